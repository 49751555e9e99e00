import { describe, expect, test } from 'vitest'
import {
  activeMachines,
  batchPart,
  continuedWith,
  fullPartName,
  isActiveIn,
  partName,
  partOfPermit,
  partOfSlice,
  partRef,
  sliceName,
  stagePart,
} from './part.ts'

const base = { kind: 'MachineComponentSet', name: 'base' }
const slice = {
  component: 'beacon',
  version: '1.1.0',
  config: 'beacon-1',
  step: 1,
  number: 0,
  machines: ['m-1', 'm-2'],
}
const requester = { manager: 'm', ...base }

describe('a part of a rollout has one name, counted as people count', () => {
  const part = partOfSlice(base, slice)

  test('within its parent, alone, and in full', () => {
    expect([sliceName(slice), partName(part)]).toEqual(['beacon 1.1.0 step 2 slice 1', 'beacon 1.1.0 step 2 slice 1'])
    expect(partRef(part)).toBe('set/base step 2 slice 1')
    expect(fullPartName(part)).toBe('set/base beacon 1.1.0 step 2 slice 1')
  })

  test('also when its component leaves, as this program and earlier ones write it', () => {
    const { version: _, config: __, ...leaving } = slice
    expect([sliceName(leaving), sliceName({ ...leaving, version: '' })]).toEqual([
      'beacon leaves step 2 slice 1',
      'beacon leaves step 2 slice 1',
    ])
  })

  test('also a batch of a canary, and a stage of a release, which goes to no single component', () => {
    const canary = { kind: 'ComponentCanary', name: 'try' }
    const to = { name: 'beacon', version: '1.1.0' }
    expect(fullPartName({ parent: canary, part: batchPart(0), to, targets: [] })).toBe(
      'canary/try beacon 1.1.0 batch 1',
    )
    const stage = { parent: { kind: 'Release', name: 'machines-3f1c9e0a7b5d' }, part: stagePart('prod'), targets: [] }
    expect([partName(stage), fullPartName(stage)]).toEqual(['stage prod', 'release/machines-3f1c9e0a7b5d stage prod'])
  })
})

describe('a permit', () => {
  const targets = slice.machines.map((name) => ({ kind: 'Machine' as const, name, uid: `uid-${name}` }))

  test('says which part it is for, what that decided, and for whom', () => {
    const part = partOfSlice(base, slice)
    const component = { name: 'beacon', version: '1.1.0', config: 'beacon-1' }
    expect(partOfPermit({ component, targets, requester: { ...requester, part: part.part } })).toEqual(part)
  })

  test('of a part without a component names none', () => {
    expect(partOfPermit({ requester: { ...requester, part: 'stage prod' } })).toEqual({
      parent: base,
      part: 'stage prod',
      targets: [],
    })
  })

  test.each([
    ['of an earlier program', { component: { name: 'beacon' }, requester }],
    ['that nothing is known of', {}],
  ])('%s is for no part', (_, spec) => expect(partOfPermit(spec)).toBeUndefined())
})

describe('a slice that goes on with fewer machines', () => {
  const left = continuedWith(slice, new Set(['m-2']))

  test('keeps its decision and says which it released', () => {
    expect(left).toEqual({ ...slice, released: ['m-1'] })
    expect([activeMachines(slice), activeMachines(left)]).toEqual([['m-1', 'm-2'], ['m-2']])
    expect(['m-1', 'm-2', 'm-3'].map((m) => isActiveIn(left, m))).toEqual([false, true, false])
  })

  test('is the same object when it goes on with all', () => {
    expect(continuedWith(slice, new Set(slice.machines))).toBe(slice)
  })
})
