import { expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#schema/object.ts'
import { whyLines } from './why.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

const slice = (slice: number, since: string, seen: string) => ({
  component: 'beacon',
  version: '1.2.0',
  step: 4,
  slice,
  phase: 'Requested',
  machines: [`m-${slice}`],
  waitingFor: { predicate: 'PermitPending', seen, since, unblock: 'the permit is granted' },
})

test('slices that wait for the same are shown once, with their number and the longest wait', () => {
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: 'base' },
    status: {
      slices: [
        slice(0, '2026-01-31T11:59:00Z', 'rate limit'),
        slice(1, '2026-01-31T11:58:00Z', 'rate limit'),
        slice(2, '2026-01-31T11:59:00Z', 'no window'),
      ],
    },
  } as unknown as KubeObject
  expect(whyLines(object, [], NOW)).toEqual([
    'machinecomponentset/base',
    'beacon 1.2.0, step 5 (Requested), 2 slices: waiting for 2m: PermitPending',
    '  observed: rate limit',
    '  unblocks when: the permit is granted',
    'beacon 1.2.0, step 5 (Requested): waiting for 1m: PermitPending',
    '  observed: no window',
    '  unblocks when: the permit is granted',
  ])
})

test.each([
  [
    '2026-01-31T11:59:58Z',
    '2026-01-31T11:50:00Z',
    ['fleetsource/fleet', 'sync was asked 2s ago to read it, and has not yet'],
  ],
  ['2026-01-31T11:50:00Z', '2026-01-31T11:50:00Z', ['fleetsource/fleet', 'Up to date; nothing pending.']],
  ['nonsense', undefined, ['fleetsource/fleet', 'Up to date; nothing pending.']],
])('a source that sync was asked to read at %s, and that it read for the request of %s', (asked, handled, want) => {
  const annotations = { [ANNOTATIONS.reconcile]: asked }
  const object = {
    apiVersion: 'a/v1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', annotations },
    status: { lastHandledReconcileAt: handled },
  }
  expect(whyLines(object as unknown as KubeObject, [], NOW)).toEqual(want)
})
