// Decides when a reboot that the agent began is taken over by the provider: a kernel that hangs often does not get through its own shutdown.
import { parseDuration } from '#lib/duration.ts'
import { type Seen, isFrozen, isSilent } from './seen.ts'
import { isBegun } from './transitions.ts'
import type { Turn } from './turn.ts'

/** Milliseconds until it is; 0: now; undefined: not by the passing of time alone. */
export function takeOverInMs(seen: Seen, now: number, { step, operation }: Turn): number | undefined {
  const { reboot } = operation
  if (reboot === undefined || step === undefined || !isBegun(step) || isFrozen(seen)) return undefined
  if (hasBooted(seen, step.bootID)) return undefined
  const afterMs = dueAfterMs(seen, reboot)
  if (afterMs === undefined) return undefined
  const age = now - Date.parse(step.startedAt ?? '')
  return Math.max(0, afterMs - age)
}

/** Its agent is back and says the rest itself. */
const hasBooted = ({ machine }: Seen, bootID: string | undefined): boolean =>
  bootID !== undefined && machine?.status?.bootID !== undefined && machine.status.bootID !== bootID

function dueAfterMs(
  seen: Seen,
  { timeout, takeOverAfter }: { readonly timeout: string; readonly takeOverAfter?: string },
): number | undefined {
  const { provider, providerID } = seen.machine?.spec ?? {}
  // Where nobody can cut the power, time is all that can be given.
  const isReachable = provider !== undefined && providerID !== undefined
  if (takeOverAfter !== undefined && isReachable) return parseDuration(takeOverAfter)
  return isSilent(seen) ? parseDuration(timeout) : undefined
}
