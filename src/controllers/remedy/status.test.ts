// How soon a rule's status is written: at once if a user waits for it, rarely for the number of its nodes.
import { expect, test } from 'vitest'
import { type RemedierStatus, type Urgency, urgencyOf } from './status.ts'

const AT = '2026-05-01T12:00:00Z'
const condition = (status: 'True' | 'False') => ({
  type: 'Ready',
  status,
  reason: 'AsDeclared',
  message: 'the rule is active',
  lastTransitionTime: AT,
})
const COUNTS = { selected: 3, matching: 1, unknown: 0, inFlight: 0, lastHour: 0, lastDay: 0, inhibited: 0 }
const STATUS = {
  observedGeneration: 2,
  activeRevision: 'abc',
  counts: COUNTS,
  matching: [{ node: 'n-1', since: AT }],
  conditions: [condition('True')],
} as RemedierStatus
const withCounts = (counts: Partial<typeof COUNTS>): RemedierStatus => ({ ...STATUS, counts: { ...COUNTS, ...counts } })

const CASES: readonly (readonly [string, RemedierStatus | undefined, RemedierStatus, Urgency])[] = [
  ['nothing changed', STATUS, { ...STATUS }, 'Never'],
  ['the first status', undefined, STATUS, 'Now'],
  ['a new generation', STATUS, { ...STATUS, observedGeneration: 3 }, 'Now'],
  ['a condition changed', STATUS, { ...STATUS, conditions: [condition('False')] }, 'Now'],
  ['a machine joined', STATUS, withCounts({ selected: 4 }), 'Later'],
  ['a node fell silent', STATUS, withCounts({ unknown: 1 }), 'Later'],
  ['a node matches, and one joined', STATUS, withCounts({ selected: 4, matching: 2 }), 'Soon'],
  ['a job began', STATUS, withCounts({ inFlight: 1 }), 'Soon'],
  ['another node matches', STATUS, { ...STATUS, matching: [{ node: 'n-2', since: AT }] }, 'Soon'],
]

test.each(CASES)('%s', (_, before, now, expected) => {
  expect(urgencyOf(before, now)).toBe(expected)
})
