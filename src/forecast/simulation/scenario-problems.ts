// Problems of a hand-written scenario, which is code that Node.js runs without type checks. Pure.
import type { Scenario } from '#api/scenario.ts'
import { OPERATIONS } from '#api/kinds/operations.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { durationMs } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'

/** What is wrong with a value, or undefined. */
type Check = (value: unknown) => string | undefined
type Fields = Readonly<Record<string, { readonly check: Check; readonly isNeeded?: true }>>

/** Lists of a scenario: more would be a mistake. */
const MOST_ENTRIES = 100

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 60)

const text: Check = (v) => (typeof v === 'string' && v !== '' ? undefined : `is ${shown(v)}, not a text`)
const duration: Check = (v) =>
  typeof v === 'string' && durationMs(v) !== undefined ? undefined : `is ${shown(v)}, not a duration such as 15m`
/** None would end before anything happens. */
const length: Check = (v) =>
  duration(v) === undefined && durationMs(v as string) === 0 ? `is ${shown(v)}, not longer than 0s` : duration(v)
const share: Check = (v) => (typeof v === 'number' && v >= 0 && v <= 1 ? undefined : `is ${shown(v)}, not from 0 to 1`)
/** None would break nothing, so that everything it expects holds. */
const shareOfBad: Check = (v) => (v === 0 ? 'is 0, so that no version is bad' : share(v))
const count: Check = (v) =>
  (typeof v === 'number' && Number.isInteger(v) && v > 0) ||
  (typeof v === 'string' && /^\d+(\.\d+)?%$/.test(v) && Number.parseFloat(v) > 0)
    ? undefined
    : `is ${shown(v)}, not a number or a share such as 5%`
const rate: Check = (v) =>
  typeof v === 'number' && Number.isFinite(v) && v >= 0 ? undefined : `is ${shown(v)}, not a number of hosts`
const listOf =
  (check: Check): Check =>
  (v) => {
    if (!Array.isArray(v)) return `is ${shown(v)}, not a list`
    if (v.length > MOST_ENTRIES) return `has ${v.length} entries; at most ${MOST_ENTRIES} count`
    for (const [n, one] of v.entries()) {
      const problem = check(one)
      if (problem !== undefined) return `${n}: ${problem}`
    }
    return undefined
  }
const choice =
  (choices: readonly string[]): Check =>
  (v) =>
    typeof v === 'string' && choices.includes(v)
      ? undefined
      : `is ${shown(v)}${hint(typeof v === 'string' ? v : '', choices)}; use one of ${choices.join(', ')}`
const object =
  (fields: Fields): Check =>
  (v) => {
    if (!isObject(v)) return `is ${shown(v)}, not an object`
    const names = Object.keys(fields)
    for (const name of Object.keys(v))
      if (!names.includes(name)) return `has an unknown field ${name}${hint(name, names)}; use ${names.join(', ')}`
    for (const [name, { check, isNeeded }] of Object.entries(fields)) {
      const value = Object.hasOwn(v, name) ? v[name] : undefined
      if (value === undefined && isNeeded !== true) continue
      const problem = value === undefined ? 'is missing' : check(value)
      if (problem !== undefined) return `${name} ${problem}`
    }
    return undefined
  }

function hint(word: string, known: readonly string[]): string {
  const near = didYouMean(word, known)
  return near === undefined ? '' : ` (did you mean ${near}?)`
}

const pick = object({
  zone: { check: text },
  rack: { check: text },
  pool: { check: text },
  names: { check: listOf(text) },
  count: { check: count },
})
const lasting = {
  at: { check: duration },
  pick: { check: pick, isNeeded: true as const },
  for: { check: length, isNeeded: true as const },
}

const scenario = object({
  description: { check: text, isNeeded: true },
  faults: {
    check: listOf(
      object({
        at: { check: duration },
        pick: { check: pick },
        over: { check: duration },
        condition: { check: text, isNeeded: true },
        clearsAfter: { check: duration },
        clearedBy: { check: listOf(choice(OPERATIONS)) },
        clearShare: { check: share },
      }),
    ),
  },
  outages: { check: listOf(object(lasting)) },
  apiOutages: { check: listOf(object({ at: lasting.at, for: lasting.for })) },
  hostWork: { check: listOf(object(lasting)) },
  spotReclaims: {
    check: listOf(
      object({
        at: lasting.at,
        pick: lasting.pick,
        over: { check: duration },
        notice: { check: duration },
        replacedAfter: { check: duration },
      }),
    ),
  },
  providerLimits: {
    check: listOf(object({ at: lasting.at, for: lasting.for, perHour: { check: rate, isNeeded: true } })),
  },
  badVersions: {
    check: listOf(
      object({
        component: { check: text, isNeeded: true },
        share: { check: shareOfBad },
        ends: { check: choice(['RolledBack', 'Failed']) },
      }),
    ),
  },
  until: { check: length },
  expect: { check: listOf(text) },
})

/** Returns the scenario, or the first thing that is wrong with it. */
export function scenarioOf(value: unknown): Scenario | { readonly problem: string } {
  const problem = scenario(value)
  return problem === undefined ? (value as Scenario) : { problem }
}
