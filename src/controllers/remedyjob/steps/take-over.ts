// Decides when a reboot is no longer left to the agent. A hanging kernel often cannot shut itself down, and an agent that cannot write to its disk
// does not even start.
import { parseDuration } from '#lib/duration.ts'
import { type Seen, isFrozen, isSilent, nextOperation } from '../seen.ts'
import { isStarted } from '../plan-transitions.ts'
import type { Turn } from './turn.ts'

/** A healthy agent starts within a second or two. It reads its permit first, and may have to retry. */
const BEGINS_WITHIN_MS = 60_000

/** Milliseconds until the takeover. 0: now. Undefined: not just by waiting. */
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

/** How long the current step could have started. */
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

/** Its agent is back and reports the rest itself. */
const hasBooted = ({ machine }: Seen, bootID: string | undefined): boolean =>
  bootID !== undefined && machine?.status?.bootID !== undefined && machine.status.bootID !== bootID

function dueAfterMs(
  seen: Seen,
  { timeout, takeOverAfter }: { readonly timeout: string; readonly takeOverAfter?: string },
): number | undefined {
  // If no provider can cut the power, waiting is the only option.
  if (takeOverAfter !== undefined && hasHost(seen)) return parseDuration(takeOverAfter)
  return isSilent(seen) ? parseDuration(timeout) : undefined
}
