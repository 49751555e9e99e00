import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import {
  findCondition,
  isConditionTrue,
  MAX_CONDITION_MESSAGE,
  removeCondition,
  setCondition,
  setConditions,
  type WantedCondition,
} from './conditions.ts'

const T0 = Date.UTC(2026, 0, 5)
const ready = (status: 'True' | 'False' = 'True', message = 'all well'): WantedCondition => ({
  type: 'Ready',
  status,
  reason: 'AsWanted',
  message,
})

describe('conditions', () => {
  it('setting the same again returns the very same list', () => {
    const first = setCondition(undefined, ready(), T0)
    expect(setCondition(first, ready(), T0 + 60_000)).toBe(first)
  })

  it('the time moves with the status and not with the message', () => {
    const first = setCondition(undefined, ready(), T0)
    const said = setCondition(first, ready('True', 'still well'), T0 + 60_000)
    const fell = setCondition(said, ready('False'), T0 + 120_000)
    expect([said, fell].map((c) => c[0]?.lastTransitionTime)).toEqual([timestamp(T0), timestamp(T0 + 120_000)])
  })

  it('a time that a clock set back left in the future starts again, and so does one that cannot be read', () => {
    const first = setCondition(undefined, ready(), T0 + 3_600_000)
    const unreadable = first.map((c) => ({ ...c, lastTransitionTime: 'soon' }))
    const times = [first, unreadable].map((c) => setCondition(c, ready(), T0)[0]?.lastTransitionTime)
    expect(times).toEqual([timestamp(T0), timestamp(T0)])
  })

  it('a message is one line of at most 200 characters, cut between characters', () => {
    const [c] = setCondition(undefined, ready('True', `a\n b ${'😀'.repeat(400)}`), T0)
    expect(c?.message.startsWith('a b 😀')).toBe(true)
    expect([...(c?.message ?? '')]).toHaveLength(MAX_CONDITION_MESSAGE)
    expect(c?.message.isWellFormed()).toBe(true)
  })

  it('order stays, others stay, removal takes one', () => {
    const list = setConditions(
      undefined,
      [ready(), { ...ready(), type: 'Paused' }, { ...ready(), type: 'Stalled' }],
      T0,
    )
    const after = removeCondition(setCondition(list, ready('False'), T0 + 1), 'Paused')
    expect(after.map((c) => `${c.type}=${c.status}`)).toEqual(['Ready=False', 'Stalled=True'])
    expect(removeCondition(after, 'Paused')).toBe(after)
    expect([isConditionTrue(after, 'Stalled'), findCondition(after, 'Paused')]).toEqual([true, undefined])
  })

  it('setting any sequence twice is setting it once', () => {
    const wanted = fc.array(
      fc.record({
        type: fc.constantFrom('A', 'B', 'C'),
        status: fc.constantFrom('True' as const, 'False' as const),
        reason: fc.constant('R'),
        message: fc.string({ maxLength: 5 }),
      }),
      { maxLength: 3 },
    )
    fc.assert(
      fc.property(wanted, (list) => {
        const unique = [...new Map(list.map((c) => [c.type, c])).values()]
        const once = setConditions(undefined, unique, T0)
        expect(setConditions(once, unique, T0 + 1_000)).toBe(once)
      }),
      { numRuns: 100 },
    )
  })
})
