import { describe, expect, it } from 'vitest'
import { compileRule } from './compile-rule.ts'
import { evaluate } from './evaluate.ts'
import { nodeFacts, nodeVocabulary } from './node-vocabulary.ts'
import { createRuleset } from './ruleset.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')

const node = {
  metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'a' }, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
  status: {
    nodeInfo: {
      kubeletVersion: 'v1.32.4-vendor.1',
      kernelVersion: '5.10.134-16.3.al8.x86_64',
      containerRuntimeVersion: 'containerd://1.7.2',
      architecture: 'arm64',
    },
    conditions: [
      { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: '2026-05-01T11:50:00Z' },
      { type: 'DiskPressure', status: 'False', lastTransitionTime: '2026-04-01T00:00:00Z' },
    ],
  },
}

async function fires(facts: ReturnType<typeof nodeFacts>, ...leaves: readonly object[]): Promise<boolean> {
  const result = compileRule('r', { all: leaves }, nodeVocabulary())
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return (await evaluate(createRuleset([result.rule]), facts, NOW)).fired.length === 1
}

describe('the facts of a Node object', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['its name', { fact: 'name', operator: 'equal', value: 'n1' }],
    ['a label', { fact: 'labels', path: '/topology.kubernetes.io~1zone', operator: 'equal', value: 'a' }],
    ['a taint, by key', { fact: 'taints', operator: 'contains', value: 'gpu' }],
    ['that it is not cordoned', { fact: 'unschedulable', operator: 'equal', value: false }],
    ['its age', { fact: 'createdAt', operator: 'heldFor', value: '100d' }],
    [
      'a condition and since when',
      { fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'Unknown', for: '10m' },
    ],
    ['a condition that is not reported', { fact: 'conditions', path: '/KernelDeadlock', operator: 'absent' }],
    ['the version of its kubelet', { fact: 'versions', path: '/kubelet', operator: 'semverAtLeast', value: '1.32.4' }],
    [
      'the version of its kernel',
      { fact: 'versions', path: '/kernel', operator: 'semverSatisfies', value: '>=5.10.134-16 <5.11' },
    ],
    ['its container runtime', { fact: 'system', path: '/runtime', operator: 'equal', value: 'containerd' }],
    [
      'the version of its container runtime',
      { fact: 'versions', path: '/runtime', operator: 'semverLess', value: '1.7.3' },
    ],
    ['its architecture', { fact: 'system', path: '/arch', operator: 'in', value: ['arm64'] }],
  ]
  it.each(cases)('have %s', async (_name, leaf) => expect(await fires(nodeFacts(node), leaf)).toBe(true))

  it('say nothing about a condition that is listed twice with different statuses', async () => {
    const ready = (status: string) => ({ type: 'Ready', status, lastTransitionTime: '2026-05-01T11:00:00Z' })
    const reporting = (...conditions: readonly object[]) => ({ metadata: { name: 'n1' }, status: { conditions } })
    const is = (value: string) => ({ fact: 'conditions', path: '/Ready/status', operator: 'equal', value })
    const twice = reporting(ready('True'), ready('False'))
    const before = reporting(ready('True'), ready('True'))
    for (const facts of [nodeFacts(twice), nodeFacts(twice, { node: before, facts: nodeFacts(before) })]) {
      for (const status of ['True', 'False', 'Unknown']) expect(await fires(facts, is(status))).toBe(false)
      expect(await fires(facts, { fact: 'conditions', path: '/Ready', operator: 'absent' })).toBe(false)
    }
    expect(await fires(nodeFacts(reporting(ready('False'), ready('False'))), is('False'))).toBe(true)
  })

  it('say nothing about conditions when the node reports none at all', async () => {
    const silent = nodeFacts({ metadata: { name: 'n1' }, status: {} })
    expect(await fires(silent, { fact: 'conditions', path: '/Ready', operator: 'absent' })).toBe(false)
    expect(await fires(silent, { fact: 'taints', operator: 'doesNotContain', value: 'gpu' })).toBe(true)
  })
})
