import { expect, test } from 'vitest'
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { givenBack, newLease, taken } from '#runtime/lease.ts'
import { unendedRun, type RunTraces } from './unended-run.ts'

const NOW = Date.parse('2026-11-26T12:00:00Z')
const lease = taken(newLease({ name: 'kubenode-installer' }), 'upgrade on host-1, process 7 (ab)', 15_000, NOW)
const example = inventory.example as unknown as Inventory
const { commit: _, ...begun } = example.spec
const none: RunTraces = { lease: undefined, namespace: undefined, inventory: undefined }
const noted: RunTraces = { ...none, inventory: { ...example, spec: { ...begun, commit: 'a'.repeat(40) } } }

test('a run that renews its turn is running', () => {
  expect(unendedRun({ ...noted, lease }, NOW + 10_000)).toEqual({
    kind: 'Running',
    by: 'upgrade on host-1, process 7 (ab)',
  })
})

test('a turn that was not given back is of a run that was killed', () => {
  expect(unendedRun({ ...noted, lease }, NOW + 60_000)).toEqual({ kind: 'BrokenOff', verb: 'install' })
  expect(unendedRun({ ...noted, lease: givenBack(lease, NOW) }, NOW + 60_000)).toBeUndefined()
})

test('an Inventory without a release is of an installation that did not end', () => {
  expect(unendedRun({ ...none, inventory: { ...example, spec: begun } }, NOW)).toEqual({
    kind: 'BrokenOff',
    verb: 'install',
  })
  expect(unendedRun(noted, NOW)).toBeUndefined()
})

test('an uninstall that was broken off left its mark', () => {
  const metadata = { name: 'kubenode-system', annotations: { [ANNOTATIONS.uninstalling]: 'true' } }
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata }
  expect(unendedRun({ ...noted, namespace }, NOW)).toEqual({ kind: 'BrokenOff', verb: 'uninstall' })
  // Applied by kubectl: nothing notes an installation, and none is missing.
  expect(unendedRun(none, NOW)).toBeUndefined()
})
