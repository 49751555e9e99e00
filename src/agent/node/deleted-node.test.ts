import { expect, test } from 'vitest'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { isNodeDeleted, kubeletFinding } from './deleted-node.ts'

const missing = {
  type: 'Ready',
  status: 'False',
  reason: 'NodeMissing',
  message: 'm',
  lastTransitionTime: 't',
} as const
const machine = (more: { readonly channel?: 'Observe'; readonly deletionTimestamp?: string }, reason = 'NodeMissing') =>
  ({
    ...machineType.example,
    metadata: { name: 'm', ...(more.deletionTimestamp && { deletionTimestamp: more.deletionTimestamp }) },
    spec: { channel: more.channel ?? 'Agent' },
    status: { conditions: [{ ...missing, reason }] },
  }) as unknown as Machine

test.each([
  ['of a machine at work is made again', machine({}), true],
  ['of a machine that is being deleted is left alone', machine({ deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ['of an observed machine is left alone', machine({ channel: 'Observe' }), false],
  ['that is only not Ready is there', machine({}, 'NodeNotReady'), false],
])('a Node %s', (_, found, expected) => {
  expect(isNodeDeleted(found)).toBe(expected)
})

test.each([
  ['the kubelet that ran when its Node was deleted', 7, true],
  ['a kubelet that was started since', 8, false],
  ['no kubelet at all', undefined, false],
])('%s is reported to need a restart: %s %s', (_, pid, expected) => {
  expect(kubeletFinding({ name: 'n-1', kubelet: 7 }, pid)).toHaveLength(expected ? 1 : 0)
  expect(kubeletFinding(undefined, pid)).toEqual([])
  expect(kubeletFinding({ name: 'n-1', kubelet: undefined }, pid)).toEqual([])
})
