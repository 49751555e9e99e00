// Decides when a machine that is managed over SSH is visited: in rounds, and at once after a change of what is wanted. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { SshFailure } from '#ssh/failures.ts'
import type { VisitPlan } from './actions.ts'
import { jumpLane } from '#ssh/login/target-of.ts'
import { type Seen, requestOf } from './seen.ts'

/** Each round costs a login and some sixty snippets on the host. Silence counts from five rounds. */
const ROUND_MS = 60_000
/** Hosts that were all visited first at one moment spread out. */
const SPREAD_MS = 10_000

/** A round without work takes seconds, and a switch some minutes. */
const SLOW_MS = 3 * 60_000
/** Fewer than visits at once: however many hosts are slow, the others have places. */
const SLOW_AT_ONCE = 12

/** Need a change of what is declared: another key may mean another host. */
const FINAL: ReadonlySet<SshFailure> = new Set<SshFailure>(['HostKeyChanged', 'HostKeyUnknown'])

/** Also one that is handed back because it is only observed from now on. */
export function isVisited({ spec, status }: Machine): boolean {
  if (spec.ssh === undefined || spec.provider?.name !== 'static' || status?.agent?.phase === 'Left') return false
  return spec.channel === 'SSH' || (spec.leaving === true && status?.agent?.channel === 'SSH')
}

export function plan({ machine, ssh, last }: Seen, now: number): VisitPlan {
  const nothing: VisitPlan = { actions: [], notices: [] }
  if (!isVisited(machine)) return nothing
  const visit = machine.status?.visit
  if (visit !== undefined && FINAL.has(visit.reason) && visit.request === requestOf(ssh)) return nothing
  const isChanged = last?.generation !== machine.metadata.generation
  const isAwaited = last?.isAwaited === true
  const roundMs = ROUND_MS + spread(uidOf(machine))
  const dueAt = last === undefined || isChanged || isAwaited ? now : last.endedAt + roundMs
  if (dueAt > now) return { ...nothing, requeueAfter: dueAt - now }
  const reason = isChanged ? 'the Machine changed' : isAwaited ? 'a repair waits' : 'the next round'
  return { ...nothing, actions: [{ kind: 'Visit', reason }], requeueAfter: roundMs }
}

/** Hosts that were slow, or that are behind one jump host, share a part of the places. Undefined: no visit is due, or it needs no lane. */
export function laneOf(seen: Seen, now: number): { readonly name: string; readonly most: number } | undefined {
  if (plan(seen, now).actions.length === 0) return undefined
  return (seen.last?.tookMs ?? 0) > SLOW_MS ? { name: 'slow', most: SLOW_AT_ONCE } : jumpLane(seen.ssh)
}

/** The same for a machine in every process. */
const spread = (uid: string): number =>
  Number.parseInt(uid.replaceAll(/[^0-9a-f]/g, '').slice(-4) || '0', 16) % SPREAD_MS
