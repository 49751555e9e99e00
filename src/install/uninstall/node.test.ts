// A Node after an uninstall: entries of other programs stay, entries of KubeNode are removed.
import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { nodeWithoutUs, statusWithoutUs } from './node.ts'

const foreign = {
  metadata: { labels: { 'kubernetes.io/os': 'linux', team: 'a' }, annotations: { 'volumes/attach': 'true' } },
  taints: [
    { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
  ],
}
const node = (more: { labels?: object; annotations?: object; taints?: readonly object[] }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n-1',
    labels: { ...foreign.metadata.labels, ...more.labels },
    annotations: { ...foreign.metadata.annotations, ...more.annotations },
  },
  spec: { podCIDR: '10.0.0.0/24', unschedulable: true, taints: [...foreign.taints, ...(more.taints ?? [])] },
})
const clean = node({})

test('our cordon, the mark of a joining node and owned keys are taken off, all else stays', () => {
  const dirty = node({
    labels: { pool: 'workers', 'kubenode.io/pool': 'workers' },
    annotations: {
      'kubenode.io/cordon-owners': '{"slice/a":{"reason":"switch"}}',
      'kubenode.io/owned-by-machine': '{"labels":["kubenode.io/pool","pool"],"annotations":["site"],"taints":["hw"]}',
      site: 'x',
    },
    taints: [
      { key: 'kubenode.io/cordon', effect: 'NoSchedule' },
      { key: 'kubenode.io/components-pending', effect: 'NoSchedule' },
      { key: 'hw', effect: 'NoSchedule' },
    ],
  })
  expect(nodeWithoutUs(dirty)).toEqual(clean)
  expect(nodeWithoutUs(clean)).toBeUndefined()
})

test('only a fence of ours is opened', () => {
  const fence = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }
  expect(nodeWithoutUs(node({ taints: [fence] }))).toBeUndefined()
  const ours = node({ taints: [fence], annotations: { 'kubenode.io/fenced-by': 'job/x' } })
  expect(nodeWithoutUs(ours)).toEqual(clean)
})

test('a note of owned keys that cannot be read takes nothing with it', () => {
  const annotations = { 'kubenode.io/owned-by-machine': '{"labels":["team"' }
  expect(nodeWithoutUs(node({ annotations }))).toEqual(clean)
})

test('conditions that our agents wrote are removed; those of a kubelet and of other detectors stay', () => {
  const condition = (type: string) => ({ type, status: 'False' })
  const owns = (manager: string, types: readonly string[]) => ({
    manager,
    operation: 'Apply' as const,
    subresource: 'status',
    fieldsV1: {
      'f:status': { 'f:conditions': Object.fromEntries(types.map((t) => [`k:{"type":"${t}"}`, { '.': {} }])) },
    },
  })
  const seen: KubeObject = {
    ...clean,
    metadata: {
      ...clean.metadata,
      managedFields: [
        owns('kubenode-agent', ['DiskSpaceLow', 'Ready']),
        owns('node-problem-detector', ['KernelDeadlock']),
      ],
    },
    status: { conditions: ['Ready', 'DiskSpaceLow', 'KernelDeadlock'].map(condition) },
  }
  expect(statusWithoutUs(seen)?.['status']).toEqual({ conditions: ['Ready', 'KernelDeadlock'].map(condition) })
  expect(statusWithoutUs(clean)).toBeUndefined()
})
