// Why a machine that is managed over SSH cannot be worked on, after one reconcile. Pure.
import type { SshVisit } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { VisitResult } from '../module.ts'
import type { VisitAction } from './actions.ts'
import { type Seen, requestOf } from './seen.ts'

export interface VisitStatus {
  readonly visit?: SshVisit
}

/** Undefined: as it is. */
export function statusOf(
  { machine, ssh }: Seen,
  results: readonly ActionResult<VisitAction, VisitResult>[],
  now: number,
): VisitStatus | undefined {
  const [ran] = results
  if (ran?.outcome.kind !== 'Applied') return undefined
  const result = ran.outcome.object
  if (result.kind === 'Done') return {}
  const before = machine.status?.visit
  const since = before?.reason === result.failure ? before.since : timestamp(now)
  return { visit: { since, reason: result.failure, message: result.why, request: requestOf(ssh) } }
}
