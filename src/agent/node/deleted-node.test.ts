import { expect, test } from 'vitest'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import type { ComponentRecord } from '../components/record.ts'
import { hasKubelet, isNodeDeleted, kubeletFinding } from './deleted-node.ts'

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

const slot = { id: '0123456789abcdef-1', version: '1.0.0', digest: 'd' }
const record = (component: string, more: object) =>
  ({
    format: 1,
    component,
    state: 'Healthy',
    since: 0,
    target: { version: '1.0.0', attempt: 1 },
    pins: [],
    ...more,
  }) as unknown as ComponentRecord

test.each([
  ['while its kubelet is installed', [record('kubelet', { current: slot })], true],
  [
    'while its kubelet is switched for the first time',
    [record('kubelet', { open: { to: slot, phase: 'Probing' } })],
    true,
  ],
  ['not while its kubelet is only staged', [record('kubelet', { state: 'Staged', staged: slot })], false],
  ['not after its kubelet failed with nothing before it', [record('kubelet', { state: 'Failed' })], false],
  ['not with other components', [record('containerd', { current: slot })], false],
])('a kubelet registers the Node %s', (_, records, expected) => {
  expect(hasKubelet(records)).toBe(expected)
})
