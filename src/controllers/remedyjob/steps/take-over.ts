// Decides when a reboot is not left to the agent any longer: a kernel that hangs often does not get through its own shutdown, and an agent that cannot
// write to its disk does not even begin.
import { parseDuration } from '#lib/duration.ts'
import { type Seen, isFrozen, isSilent, nextOperation } from '../seen.ts'
import { isStarted } from '../plan-transitions.ts'
import type { Turn } from './turn.ts'

/** An agent that is well begins within a second or two; it reads its permit first, and may have to try again. */
const BEGINS_WITHIN_MS = 60_000

/** Milliseconds until it is; 0: now; undefined: not by the passing of time alone. */
export function takeOverInMs(seen: Seen, now: number, { step, operation }: Turn): number | undefined {
  const { reboot } = operation
  if (reboot === undefined || isFrozen(seen)) return undefined
  if (step === undefined) return hasHost(seen) ? Math.max(0, BEGINS_WITHIN_MS - waitedMs(seen, now)) : undefined
  if (!isStarted(step) || hasBooted(seen, step.bootID)) return undefined
  const afterMs = dueAfterMs(seen, reboot)
  if (afterMs === undefined) return undefined
  const age = now - Date.parse(step.startedAt ?? '')
  return Math.max(0, afterMs - age)
}

/** For how long the step whose turn it is could have begun. */
export function waitedMs({ job }: Pick<Seen, 'job'>, now: number): number {
  const { startedAt = '', steps = [] } = job.status ?? {}
  const index = nextOperation(job) ?? job.spec.operations.length
  const ends = steps.filter((s) => s.index < index).map((s) => Date.parse(s.finishedAt ?? ''))
  const since = Math.max(...[Date.parse(startedAt), ...ends].filter((t) => !Number.isNaN(t)))
  return Number.isFinite(since) ? now - since : 0
}

/** A provider could cut its power. */
function hasHost({ machine }: Seen): boolean {
  const { provider, providerID } = machine?.spec ?? {}
  return provider !== undefined && providerID !== undefined
}

/** Its agent is back and says the rest itself. */
const hasBooted = ({ machine }: Seen, bootID: string | undefined): boolean =>
  bootID !== undefined && machine?.status?.bootID !== undefined && machine.status.bootID !== bootID

function dueAfterMs(
  seen: Seen,
  { timeout, takeOverAfter }: { readonly timeout: string; readonly takeOverAfter?: string },
): number | undefined {
  // Where no provider can cut the power, all one can do is wait.
  if (takeOverAfter !== undefined && hasHost(seen)) return parseDuration(takeOverAfter)
  return isSilent(seen) ? parseDuration(timeout) : undefined
}
