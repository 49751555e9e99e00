// What a machine takes from the changed template of its set, and what it keeps.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { newRecord, takenFrom } from './taken.ts'

type Fields = Pick<Machine['spec'], 'labels' | 'annotations' | 'taints'>
const set = (spec: Fields): MachineSet => ({ metadata: { name: 'w' }, spec: { template: { spec } } }) as MachineSet
const machine = (spec: Fields, annotations?: Record<string, string>): Machine =>
  ({ metadata: { name: 'm', ...(annotations && { annotations }) }, spec }) as Machine
const made = (spec: Fields): Machine => machine(spec, { ...newRecord(set(spec)) })
const batch = { key: 'example.org/dedicated', value: 'batch', effect: 'NoSchedule' } as const
const evict = { key: 'example.org/dedicated', value: 'batch', effect: 'NoExecute' } as const

/** Through several templates; a person may edit the machine before each. */
function through(start: Machine, ...steps: readonly (readonly [Fields, ((f: Fields) => Fields)?])[]): Machine {
  return steps.reduce((m, [template, edit = (f) => f]) => {
    const edited = { ...m, spec: { ...m.spec, ...edit(m.spec) } }
    const taken = takenFrom(set(template), edited)
    expect(takenFrom(set(template), taken.machine)).toMatchObject({ isChange: false, kept: taken.kept })
    return taken.machine
  }, start)
}

describe('a machine of a set', () => {
  test('takes new labels, annotations and taints, changed values, and loses what the template no longer has', () => {
    const before = made({ labels: { a: '1', b: '1' }, annotations: { x: '1' }, taints: [batch] })
    const after = through(before, [{ labels: { a: '2', c: '3' }, annotations: { y: '1' }, taints: [] }])
    expect(after.spec).toEqual({ labels: { a: '2', c: '3' }, annotations: { y: '1' } })
    expect(through(after, [{}]).spec).toEqual({})
    expect(through(after, [{}]).metadata.annotations).toEqual({})
  })

  test('keeps what people added, also when the template comes to declare the same and drops it again', () => {
    const before = made({ labels: { a: '1' } })
    const after = through(before, [{ labels: { a: '1', mine: '1' } }, () => ({ labels: { a: '1', mine: '1' } })], [{}])
    expect(after.spec).toEqual({ labels: { mine: '1' } })
  })

  test('keeps the value that a person changed, and names it', () => {
    const before = made({ labels: { a: '1' }, taints: [batch] })
    const edited: Machine = { ...before, spec: { ...machine({ labels: { a: 'mine' } }).spec } }
    const taken = takenFrom(set({ labels: { a: '2' }, taints: [batch] }), edited)
    expect(taken.kept).toEqual(['a'])
    expect(taken.machine.spec).toEqual({ labels: { a: 'mine' }, taints: [batch] })
    expect(through(edited, [{}]).spec).toMatchObject({ labels: { a: 'mine' } })
  })

  test('without a record, as one that the set adopted, loses nothing', () => {
    expect(through(machine({ labels: { a: '1' }, taints: [batch] }), [{}]).spec).toEqual({
      labels: { a: '1' },
      taints: [batch],
    })
    const unreadable = machine({ labels: { a: '1' } }, { [ANNOTATIONS.template]: '{"labels":' })
    expect(through(unreadable, [{}]).spec).toEqual({ labels: { a: '1' } })
  })

  test.each([
    ['a taint that keeps pods away', [], [batch], false],
    ['a taint that evicts pods', [], [evict], true],
    ['another value of one that evicts pods', [evict], [{ ...evict, value: 'gpu' }], true],
    ['the end of one that evicted pods', [evict], [], false],
    ['one that was there', [evict], [evict, batch], false],
  ])('says whether pods go: %s', (_what, before, after, evicts) =>
    expect(takenFrom(set({ taints: after }), made({ taints: before })).evicts).toBe(evicts),
  )

  test('does not record the values of annotations, which may be large', () =>
    expect(JSON.stringify(newRecord(set({ annotations: { x: 'a'.repeat(1_000) } }))).length).toBeLessThan(200))

  const values = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), fc.constantFrom('1', '2', ''))
  const fields = fc.record({ labels: values, annotations: values })
  test('whatever templates and edits follow each other, never loses a value that no template gave', () => {
    fc.assert(
      fc.property(fields, fc.array(fc.tuple(fields, values)), (first, steps) => {
        let now = made(first)
        for (const [template, mine] of steps) {
          const labels = { ...now.spec.labels, ...Object.fromEntries(Object.keys(mine).map((k) => [`my-${k}`, 'x'])) }
          now = through({ ...now, spec: { ...now.spec, labels } }, [template])
          expect(now.spec.labels ?? {}).toMatchObject(
            Object.fromEntries(Object.keys(mine).map((k) => [`my-${k}`, 'x'])),
          )
        }
        const last = steps.at(-1)?.[0] ?? first
        const own = Object.fromEntries(Object.entries(now.spec.labels ?? {}).filter(([k]) => !k.startsWith('my-')))
        expect(own).toEqual(last.labels)
        expect(now.spec.annotations ?? {}).toEqual(last.annotations)
      }),
      { numRuns: 300 },
    )
  })
})
