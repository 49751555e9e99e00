// Decides what is restored immediately and what is left alone. A difference that needs a restart waits for an order. If another program keeps modifying
// a file, the other program wins.
import type { Finding } from './inspect.ts'

/** Up to this many restores within the window help. More would be a fight with another program, and a node must not fight. */
export const MAX_HEALS = 3
export const HEAL_WINDOW_MS = 600_000

export interface Past {
  /** When each path was restored, in monotonic time. */
  readonly heals: ReadonlyMap<string, readonly number[]>
  /** Paths that are no longer restored until a switch installs a fresh copy. */
  readonly left: ReadonlySet<string>
  /** By path: why the last restore failed. */
  readonly failures: ReadonlyMap<string, HealFailure>
}

/** A failed restore is no fight: a full disk or a folder in the way ends some day, and then the file comes back. */
export interface HealFailure {
  /** The difference that it could not restore; another one is tried at once. */
  readonly what: string
  readonly problem: string
  readonly times: number
  /** No further try before, in monotonic time. */
  readonly until: number
}

const FIRST_MS = 4_000
const MOST_MS = 60_000

export function failedHeal(before: HealFailure | undefined, what: string, problem: string, now: number): HealFailure {
  const times = before?.what === what ? before.times + 1 : 1
  return { what, problem, times, until: now + Math.min(MOST_MS, FIRST_MS * 2 ** (times - 1)) }
}

export interface DriftPlan {
  readonly heal: readonly Finding[]
  /** Paths that are abandoned now. */
  readonly giveUp: readonly Finding[]
  /** Text for the status; undefined: everything is as installed, or about to be restored. */
  readonly report: string | undefined
}

const MAX_REPORT = 200

export function planDrift(findings: readonly Finding[], past: Past, now: number): DriftPlan {
  const heal: Finding[] = []
  const giveUp: Finding[] = []
  const waiting: string[] = []
  for (const finding of findings) {
    const failure = past.failures.get(finding.key)
    if (finding.kind === 'Running') waiting.push(`${finding.what}; waiting for a switch order`)
    else if (past.left.has(finding.key)) waiting.push(`${finding.what}; not repaired again after ${MAX_HEALS} repairs`)
    else if (recent(past, finding.key, now) >= MAX_HEALS) {
      giveUp.push(finding)
      waiting.push(`${finding.what}; not repaired again after ${MAX_HEALS} repairs`)
    } else if (failure?.what === finding.what && now < failure.until) waiting.push(failure.problem)
    else heal.push(finding)
  }
  return { heal, giveUp, report: waiting.length === 0 ? undefined : reportOf(waiting) }
}

const recent = ({ heals }: Past, key: string, now: number): number =>
  (heals.get(key) ?? []).filter((at) => now - at < HEAL_WINDOW_MS).length

function reportOf(waiting: readonly string[]): string {
  const more = waiting.length === 1 ? '' : ` (and ${waiting.length - 1} more)`
  return `${(waiting[0] ?? '').slice(0, MAX_REPORT - more.length)}${more}`
}
