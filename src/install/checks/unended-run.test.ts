import { expect, test } from 'vitest'
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { unendedRun, type RunTraces } from './unended-run.ts'

const by = 'upgrade on host-1, process 7 (ab)'
const example = inventory.example as unknown as Inventory
const { commit: _, ...begun } = example.spec
const none: RunTraces = { turn: undefined, namespace: undefined, inventory: undefined }
const noted: RunTraces = { ...none, inventory: { ...example, spec: { ...begun, commit: 'a'.repeat(40) } } }

test('a run that renews its turn is running', () => {
  expect(unendedRun({ ...noted, turn: { by, isRenewed: true } })).toEqual({ kind: 'Running', by })
})

test('a turn that is neither renewed nor given back is of a run that was killed', () => {
  expect(unendedRun({ ...noted, turn: { by, isRenewed: false } })).toEqual({ kind: 'BrokenOff', verb: 'install' })
  expect(unendedRun(noted)).toBeUndefined()
})

test('an Inventory without a release is of an installation that did not end', () => {
  expect(unendedRun({ ...none, inventory: { ...example, spec: begun } })).toEqual({
    kind: 'BrokenOff',
    verb: 'install',
  })
  expect(unendedRun(noted)).toBeUndefined()
})

test('an uninstall that was broken off left its mark', () => {
  const metadata = { name: 'kubenode-system', annotations: { [ANNOTATIONS.uninstalling]: 'true' } }
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata }
  expect(unendedRun({ ...noted, namespace })).toEqual({ kind: 'BrokenOff', verb: 'uninstall' })
  // Applied by kubectl: there is no record of an installation, and none is expected.
  expect(unendedRun(none)).toBeUndefined()
})
