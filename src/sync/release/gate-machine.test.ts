// Gates as a state machine: they wait only with a reason, never let a stage past a failed gate, and always end.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { type GateRecord, havePassed, passGates } from './gate-machine.ts'
import { type Finding, type Gate, timeoutOf } from './gates.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const MINUTE = 60_000
const gateOf = (name: string, timeout?: string): Gate => ({
  name,
  machinesReady: { minPercent: 98 },
  ...defined({ timeout }),
})
const approvalOf = (name: string): Gate => ({ name, approval: { from: ['ada'], count: 1 } })

function machine(gates: readonly Gate[]) {
  let records: readonly GateRecord[] = []
  return {
    get records() {
      return records
    },
    pass(now: number, open: ReadonlySet<string>, isRetried = false) {
      const find = ({ name }: Gate) => ({ holds: open.has(name), seen: open.has(name) ? 'fine' : `${name} is shut` })
      const result = passGates({ when: 'Before', gates, records, find, now, isRetried })
      records = result.records
      return result
    },
  }
}
const all = (gates: readonly Gate[]) => new Set(gates.map((g) => g.name))
const none: ReadonlySet<string> = new Set()

describe('gates', () => {
  const two = [gateOf('a', '10m'), gateOf('b', '20m')]

  test('pass together: one that held earlier has to hold again', () => {
    const m = machine(two)
    expect(m.pass(T0, new Set(['a'])).state).toBe('Waiting')
    expect(m.pass(T0 + MINUTE, new Set(['b']))).toMatchObject({ state: 'Waiting', closed: { seen: 'a is shut' } })
    expect(havePassed(two, 'Before', m.records)).toBe(false)
    expect(m.pass(T0 + 2 * MINUTE, all(two)).state).toBe('Passed')
    expect(havePassed(two, 'Before', m.records)).toBe(true)
  })

  test('fail when the time of one is over, with what was observed, and stay failed until they are retried', () => {
    const m = machine(two)
    m.pass(T0, new Set(['b']))
    expect(m.pass(T0 + 9 * MINUTE, new Set(['b'])).state).toBe('Waiting')
    expect(m.pass(T0 + 10 * MINUTE, new Set(['b']))).toMatchObject({
      state: 'Failed',
      closed: { gate: { name: 'a' }, seen: 'a is shut', failsAt: T0 + 10 * MINUTE },
    })
    expect(m.pass(T0 + 11 * MINUTE, all(two)).state).toBe('Failed')
    expect(m.pass(T0 + 12 * MINUTE, all(two), true).state).toBe('Passed')
  })

  test('are not failed by an answer that is on its way, such as after sync was away for longer than their time', () => {
    const [gate] = [gateOf('a', '10m')]
    const since = new Date(T0).toISOString()
    const records: readonly GateRecord[] = [{ when: 'Before', name: 'a', phase: 'Waiting', since }]
    const at = (finding: Finding) =>
      passGates({
        when: 'Before',
        gates: [gate],
        records,
        find: () => finding,
        now: T0 + 60 * MINUTE,
        isRetried: false,
      })
    expect(at({ holds: false, seen: 'reading', isPending: true }).state).toBe('Waiting')
    expect(at({ holds: false, seen: 'shut' }).state).toBe('Failed')
    expect(at({ holds: true, seen: 'fine' }).state).toBe('Passed')
  })

  test('that are retried have their whole time again', () => {
    const m = machine(two)
    m.pass(T0, none)
    m.pass(T0 + 60 * MINUTE, none)
    expect(m.pass(T0 + 61 * MINUTE, none, true).state).toBe('Waiting')
    expect(m.pass(T0 + 70 * MINUTE, none).state).toBe('Waiting')
    expect(m.pass(T0 + 71 * MINUTE, none).state).toBe('Failed')
  })

  test.each([
    ['an hour for readings', gateOf('a'), '1h'],
    ['a week for people', approvalOf('a'), '168h'],
    ['what is declared', gateOf('a', '5m'), '5m'],
  ])('have %s', (_, gate, timeout) => expect(timeoutOf(gate)).toBe(timeout))

  test('of no stage pass', () => expect(machine([]).pass(T0, none)).toEqual({ state: 'Passed', records: [] }))
})

describe('whatever gates see, and whenever they are asked', () => {
  const names = ['a', 'b', 'c'] as const
  const gates = fc
    .uniqueArray(fc.record({ name: fc.constantFrom(...names), minutes: fc.integer({ min: 0, max: 30 }) }), {
      minLength: 1,
      selector: (g) => g.name,
    })
    .map((list) => list.map(({ name, minutes }) => gateOf(name, `${minutes}m`)))
  const step = fc.record({
    open: fc.subarray([...names]).map((list): ReadonlySet<string> => new Set(list)),
    seconds: fc.integer({ min: 0, max: 300 }),
    isRetried: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  const story = fc.tuple(gates, fc.array(step, { minLength: 1, maxLength: 60 }))

  test('they never wait without a gate and a reason, and never pass with one that is shut', () => {
    fc.assert(
      fc.property(story, ([declared, steps]) => {
        const m = machine(declared)
        let now = T0
        for (const { open, seconds, isRetried } of steps) {
          const { state, closed, records } = m.pass(now, open, isRetried)
          expect(records.map((r) => r.name)).toEqual(declared.map((g) => g.name))
          if (state === 'Passed') {
            expect(declared.every((g) => open.has(g.name))).toBe(true)
            expect(closed).toBeUndefined()
          } else {
            expect(closed?.seen).toMatch(/is shut/)
            expect(records.find((r) => r.name === closed?.gate.name)?.phase).toBe(state)
          }
          now += seconds * 1_000
        }
      }),
    )
  })

  test('no pass without a retry follows a failure', () => {
    fc.assert(
      fc.property(story, ([declared, steps]) => {
        const m = machine(declared)
        let now = T0
        let hasFailed = false
        for (const { open, seconds, isRetried } of steps) {
          const { state } = m.pass(now, open, isRetried)
          if (hasFailed && !isRetried) expect(state).toBe('Failed')
          hasFailed = state === 'Failed'
          now += seconds * 1_000
        }
      }),
    )
  })

  test('they come to an end: after the longest time nothing waits, however they flap', () => {
    fc.assert(
      fc.property(story, ([declared, steps]) => {
        const m = machine(declared)
        const longest = Math.max(...declared.map((g) => parseDuration(timeoutOf(g))))
        let now = T0
        for (const { open, seconds } of steps) {
          const { state } = m.pass(now, open)
          if (now >= T0 + longest) expect(state).not.toBe('Waiting')
          if (state === 'Failed') expect(now).toBeGreaterThanOrEqual(T0)
          now += seconds * 1_000
        }
        expect(m.pass(T0 + longest + 1_000, none).state).toBe('Failed')
      }),
    )
  })
})
