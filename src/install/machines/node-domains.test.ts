import { expect, test } from 'vitest'
import { LABELS } from '#api/names.ts'
import type { Node } from '#nodes/objects.ts'
import { isControlPlane, nodeDomains } from './node-domains.ts'

const node = (labels: Record<string, string>): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', labels },
})

test('a Node of a cloud gives its pool, zone, class and region, and no label that only this Node has', () => {
  const found = nodeDomains(
    node({
      'eks.amazonaws.com/nodegroup': 'db',
      [LABELS.zone]: 'eu-1a',
      'topology.kubernetes.io/region': 'eu-1',
      'node.kubernetes.io/instance-type': 'm7i.large',
      'kubernetes.io/hostname': 'n',
      'kubernetes.io/arch': 'amd64',
      'feature.node.kubernetes.io/cpu-cpuid.AVX': 'true',
      'kubenode.io/somewhere': 'x',
      team: 'shop',
    }),
  )
  expect(found).toEqual({
    pool: 'db',
    zone: 'eu-1a',
    class: 'm7i.large',
    labels: {
      'eks.amazonaws.com/nodegroup': 'db',
      [LABELS.zone]: 'eu-1a',
      'topology.kubernetes.io/region': 'eu-1',
      'node.kubernetes.io/instance-type': 'm7i.large',
      'kubernetes.io/arch': 'amd64',
      team: 'shop',
      [LABELS.pool]: 'db',
      [LABELS.class]: 'm7i.large',
    },
  })
})

test('our own labels win over those of a cloud, and empty ones count as none', () => {
  const labels = { [LABELS.pool]: 'ours', 'karpenter.sh/nodepool': 'theirs', [LABELS.rack]: '', [LABELS.class]: 'big' }
  expect(nodeDomains(node(labels))).toMatchObject({ pool: 'ours', class: 'big' })
  expect(nodeDomains(node(labels)).rack).toBeUndefined()
  expect(nodeDomains(node({}))).toEqual({ labels: {} })
})

test('more labels than any set selects by are cut off, and never the domains', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`a${n}`, 'x']))
  const { labels } = nodeDomains(node({ ...many, [LABELS.zone]: 'z' }))
  expect([Object.keys(labels).length, labels[LABELS.zone]]).toEqual([65, 'z'])
})

test.each([
  ['node-role.kubernetes.io/control-plane', true],
  ['node-role.kubernetes.io/master', true],
  ['node-role.kubernetes.io/worker', false],
])('%s: a control plane? %s', (label, is) => expect(isControlPlane(node({ [label]: '' }))).toBe(is))
