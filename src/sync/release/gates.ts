// Whether a gate of a pipeline holds for what was seen of one cluster. A reading that is missing holds nothing. Pure.
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'

export type Stage = ReleasePipelineSpec['stages'][number]
export type Gate = NonNullable<Stage['gates']>[number]

/** What gates look at; counts that could not be read are absent. */
export interface ClusterReadings {
  readonly machines?: {
    readonly total: number
    readonly ready: number
    readonly consistent: number
    readonly skipped: number
  }
  /** Milliseconds since 1970 of the newest repair; absent: none. */
  readonly lastRepairAt?: number
  readonly repairsKnown: boolean
}

export interface GateResult {
  readonly name: string
  readonly holds: boolean
  /** "machinesReady 3 of 5, 98% needed". */
  readonly seen: string
  readonly timeoutMs: number
}

export interface GateFacts {
  readonly now: number
  /** Who approved the release. */
  readonly approvedBy: ReadonlySet<string>
}

export function judgeGate(gate: Gate, readings: ClusterReadings | undefined, facts: GateFacts): GateResult {
  const [holds, seen] = verdict(gate, readings, facts)
  return { name: gate.name, holds, seen, timeoutMs: parseDuration(gate.timeout) }
}

function verdict(gate: Gate, readings: ClusterReadings | undefined, { now, approvedBy }: GateFacts): [boolean, string] {
  if (gate.approval !== undefined) return approval(gate.approval, approvedBy)
  const { machines } = readings ?? {}
  if (gate.machinesReady !== undefined) {
    if (machines === undefined) return [false, 'the machines could not be read']
    return share('Ready', machines.ready, machines.total, gate.machinesReady.minPercent)
  }
  if (gate.componentsConsistent !== undefined) {
    if (machines === undefined) return [false, 'the machines could not be read']
    const counted = machines.total - machines.skipped
    return share('consistent', machines.consistent, counted, gate.componentsConsistent.minPercent)
  }
  if (gate.noNewRepairs !== undefined) {
    if (readings?.repairsKnown !== true) return [false, 'the repairs could not be read']
    const { lastRepairAt } = readings
    const within = parseDuration(gate.noNewRepairs.within)
    const age = lastRepairAt === undefined ? Number.POSITIVE_INFINITY : now - lastRepairAt
    return age > within ? [true, 'no new repairs'] : [false, `a repair began ${formatDuration(Math.max(0, age))} ago`]
  }
  return [false, 'this sort of gate is not supported yet']
}

function share(what: string, good: number, of: number, minPercent: number): [boolean, string] {
  // Multiplied, not divided, so that 98 of 100 is not less than 98 %.
  return [good * 100 >= minPercent * of, `${good} of ${of} machines are ${what}, ${minPercent}% are needed`]
}

function approval({ from, count }: NonNullable<Gate['approval']>, approvedBy: ReadonlySet<string>): [boolean, string] {
  // Groups need the admission policy that records them; until then only named people count.
  const people = from.filter((f) => approvedBy.has(f))
  return [people.length >= count, `approved by ${people.length} of ${count}`]
}
