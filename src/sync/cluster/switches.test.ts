// What a Release keeps of the durations that sets report: never invents a value that was not measured.
import { expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { MAX_RECORDED_SWITCHES } from '#api/kinds/release.ts'
import { switchesOf } from './switches.ts'

const set = (
  name: string,
  durations?: readonly { readonly component: string; readonly seconds: readonly number[] }[],
) => ({
  ...machineComponentSet.example,
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name },
  ...(durations !== undefined && { status: { durations } }),
})

test('half and nine of ten of the last switches, by set and component', () => {
  const seconds = Array.from({ length: 50 }, (_, i) => 50 - i)
  expect(
    switchesOf([set('base', [{ component: 'beacon', seconds }]), set('gpu', [{ component: 'beacon', seconds: [7] }])]),
  ).toEqual([
    { set: 'base', component: 'beacon', count: 50, p50: 25, p90: 45 },
    { set: 'gpu', component: 'beacon', count: 1, p50: 7, p90: 7 },
  ])
})

test('what was never measured, and objects of other kinds, are left out', () => {
  const other = { ...set('x', [{ component: 'a', seconds: [1] }]), apiVersion: 'example.org/v1' }
  expect(switchesOf([set('base'), set('new', []), set('empty', [{ component: 'a', seconds: [] }]), other])).toEqual([])
})

test('a cluster with many sets has as many entries as a record has room for', () => {
  const many = Array.from({ length: 40 }, (_, i) => set(`s-${i}`, [{ component: 'a', seconds: [1] }]))
  expect(switchesOf(many)).toHaveLength(MAX_RECORDED_SWITCHES)
})

test('a set that a server serves in another form has none, and the others keep theirs', () => {
  const seconds = ['1', {}] as unknown as readonly number[]
  const sets = [set('odd', [{ component: 'a', seconds }]), set('base', [{ component: 'a', seconds: [3] }])]
  expect(switchesOf(sets)).toEqual([{ set: 'base', component: 'a', count: 1, p50: 3, p90: 3 }])
})
