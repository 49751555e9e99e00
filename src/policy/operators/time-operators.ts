// Operators over times. Ages are computed from the evaluation's own time. A timestamp in the future is unknown, so that a wrong clock neither repairs
// nor clears anything.
import { durationMs } from '#lib/duration.ts'
import { instantMs } from '../reading.ts'
import { verdictOf } from '../verdict.ts'
import { badValue, bound, wrongType } from './operator.ts'
import type { Operator } from './operator.ts'
import type { Shape } from '../vocabulary.ts'

const ON_TIME = { accepts: 'a time', fits: ({ type }: Shape) => type === 'time' } as const

const aged = (name: string, doc: string, holds: (age: number, wanted: number) => boolean): Operator => ({
  name,
  doc,
  readAs: 'age',
  ...ON_TIME,
  bind: (value) => {
    if (typeof value !== 'string') return wrongType('a duration such as "5m"', value)
    const wanted = value.length > 40 ? undefined : durationMs(value)
    if (wanted === undefined || !Number.isFinite(wanted))
      return badValue('not a duration; write one like 90s, 5m or 1h30m')
    return bound((age) => (typeof age === 'number' ? verdictOf(holds(age, wanted)) : 'unknown'))
  },
})

const placed = (name: string, doc: string, holds: (at: number, wanted: number) => boolean): Operator => {
  const compare = (at: unknown, other: unknown) =>
    typeof at === 'number' && typeof other === 'number' ? verdictOf(holds(at, other)) : 'unknown'
  return {
    name,
    doc,
    readAs: 'instant',
    ...ON_TIME,
    bind: (value) => {
      if (typeof value !== 'string') return wrongType('a time such as "2026-01-31T08:00:00Z"', value)
      const wanted = instantMs(value)
      if (wanted === undefined) return badValue('not a time; write one like 2026-01-31T08:00:00Z, not before 2014')
      return bound((at) => compare(at, wanted))
    },
    compare,
  }
}

export const HELD_FOR = 'heldFor'

export const TIME_OPERATORS: readonly Operator[] = [
  aged(HELD_FOR, 'The time is at least this long ago.', (age, wanted) => age >= wanted),
  aged('changedWithin', 'The time is less than this long ago.', (age, wanted) => age < wanted),
  placed('before', 'The time is earlier than this one.', (at, wanted) => at < wanted),
  placed('after', 'The time is later than this one.', (at, wanted) => at > wanted),
]
