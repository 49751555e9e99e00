// Decides whether the gates at one point of a stage let it continue. They pass together or not at all. A closed gate fails when its time is over and its
// last answer is known, and stays failed until a user requests a retry. Each gate keeps its evidence. Pure.
import type { ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { shortened } from '#lib/shortened.ts'
import { type Finding, type Gate, timeoutOf } from './gates.ts'

export type GateRecord = NonNullable<NonNullable<ReleaseStatus['stages']>[number]['gates']>[number]
export type GateMoment = GateRecord['when']

export interface GatesInput {
  readonly when: GateMoment
  readonly gates: readonly Gate[]
  /** Records of the last pass, for any moment. */
  readonly records: readonly GateRecord[]
  readonly find: (gate: Gate) => Finding
  readonly now: number
  readonly isRetried: boolean
}

export interface GatesResult {
  readonly state: 'Passed' | 'Waiting' | 'Failed'
  /** Records of this moment, in the order of the gates. */
  readonly records: readonly GateRecord[]
  /** The first gate that does not pass; absent if all pass. */
  readonly closed?: { readonly gate: Gate; readonly seen: string; readonly failsAt: number }
}

const MAX_SEEN = 200

export function passGates({ when, gates, records, find, now, isRetried }: GatesInput): GatesResult {
  const kept = isRetried ? [] : records.filter((r) => r.when === when)
  const before = new Map(kept.map((r) => [r.name, r]))
  const isFailed = (gate: Gate) => before.get(gate.name)?.phase === 'Failed'
  const judged = gates.map((gate) => {
    const old = before.get(gate.name)
    // Times have whole seconds: an earlier start would end the wait too soon.
    const since = old?.since ?? timestamp(Math.ceil(now / 1_000) * 1_000)
    const failsAt = Date.parse(since) + parseDuration(timeoutOf(gate))
    if (old !== undefined && isFailed(gate)) return { gate, record: old, failsAt }
    const { holds, seen, isPending = false } = find(gate)
    const isLate = now >= failsAt && !isPending
    const phase = holds ? ('Passed' as const) : isLate ? ('Failed' as const) : ('Waiting' as const)
    return { gate, record: { when, name: gate.name, phase, since, seen: shortened(seen, MAX_SEEN) }, failsAt }
  })
  const worst = (['Failed', 'Waiting'] as const).find((phase) => judged.some((j) => j.record.phase === phase))
  const all = judged.map((j) => j.record)
  const first = judged.find((j) => j.record.phase === worst)
  if (worst === undefined || first === undefined) return { state: 'Passed', records: all }
  const { gate, record, failsAt } = first
  return { state: worst, records: all, closed: { gate, seen: record.seen ?? '', failsAt } }
}

/** All gates of the moment passed at the same time. After that, the stage's own effect on the readings cannot close it again. */
export const havePassed = (gates: readonly Gate[], when: GateMoment, records: readonly GateRecord[]): boolean =>
  gates.every(({ name }) => records.some((r) => r.when === when && r.name === name && r.phase === 'Passed'))
