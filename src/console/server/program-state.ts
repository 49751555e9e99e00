// Whether a program runs, judging by observed changes of its Lease on this process's clock, because times in a Lease come from clocks that may be wrong. Pure.
import { DEFAULT_LEADER_TIMES } from '#runtime/leader.ts'
import { HANDOVER_MS, holderOf, isOver, type Lease, type Sighting, sighted } from '#runtime/lease.ts'
import type { Program } from '#explain/programs.ts'
import { defined } from '#lib/defined.ts'

export type ProgramReading =
  | { readonly kind: 'Lease'; readonly lease: Lease }
  | { readonly kind: 'Absent' }
  | { readonly kind: 'NotRead'; readonly message: string }

export interface ProgramState {
  readonly metadata: { readonly name: string }
  readonly program: Program
  /** Unknown: watched for less than a lease duration, or its Lease is unreadable. Unknown is never healthy. */
  readonly state: 'Unknown' | 'Runs' | 'Away'
  /** Why its Lease cannot be read. */
  readonly message?: string
  /** For an unavailable program. Stopped: the Lease's holder does not renew it. Released: it exited cleanly. Absent: there is no Lease. */
  readonly how?: 'Stopped' | 'Released' | 'Absent'
  /** When it last renewed its Lease. */
  readonly since?: number
}

/** State kept between two readings. */
export interface Watching {
  readonly shown: ProgramState
  readonly sighting?: Sighting
  /** When the Lease was first observed in its current state, in wall-clock time. */
  readonly seenAt: number
  /** The Lease changed while it was watched. */
  readonly hasRenewed: boolean
}

export interface Instant {
  readonly monotonic: number
  readonly now: number
}

export const notYetRead = (program: Program, name: string): Watching => ({
  shown: { metadata: { name }, program, state: 'Unknown' },
  seenAt: 0,
  hasRenewed: false,
})

export function watched(before: Watching, reading: ProgramReading, at: Instant): Watching {
  const { metadata, program } = before.shown
  const base = { metadata, program }
  // While nothing can be read, a holder may be unable to renew too: watching restarts.
  if (reading.kind === 'NotRead')
    return { ...notYetRead(program, metadata.name), shown: { ...base, state: 'Unknown', message: reading.message } }
  const lease = reading.kind === 'Lease' ? reading.lease : undefined
  const sighting = lease === undefined ? absence(before, at) : sighted(lease, before.sighting, at.monotonic)
  const isSame = sighting === before.sighting
  const hasRenewed = isSame ? before.hasRenewed : lease !== undefined && before.sighting !== undefined
  const seenAt = isSame ? before.seenAt : at.now
  const memory = { sighting, seenAt, hasRenewed }
  // Deleting a Lease does not bring a program back.
  const wasAway = before.shown.state === 'Away' && (isSame || lease === undefined)
  if (wasAway || isAway(lease, sighting, at)) {
    const since = wasAway ? before.shown.since : sinceOf(lease, before, memory)
    const how = lease === undefined ? 'Absent' : holderOf(lease) === undefined ? 'Released' : 'Stopped'
    return { ...memory, shown: { ...base, state: 'Away', how, ...defined({ since }) } }
  }
  // A program that ran counts as running until its lease duration is over.
  const isKnown = hasRenewed || (lease === undefined && before.shown.state === 'Runs')
  return { ...memory, shown: { ...base, state: isKnown ? 'Runs' : 'Unknown' } }
}

const ABSENT = 'absent'

const absence = ({ sighting }: Watching, { monotonic }: Instant): Sighting =>
  sighting?.version === ABSENT ? sighting : { version: ABSENT, at: monotonic }

function isAway(lease: Lease | undefined, sighting: Sighting, { monotonic }: Instant): boolean {
  if (lease === undefined || holderOf(lease) === undefined) return monotonic - sighting.at >= HANDOVER_MS
  return isOver(lease, sighting, monotonic - HANDOVER_MS, DEFAULT_LEADER_TIMES.leaseMs)
}

/** Own observations count. For a Lease that never changed while watched, only its own time is known, capped at its first observation. */
function sinceOf(
  lease: Lease | undefined,
  before: Watching,
  { seenAt, hasRenewed }: Pick<Watching, 'seenAt' | 'hasRenewed'>,
): number | undefined {
  if (lease === undefined) return before.shown.state === 'Runs' ? seenAt : undefined
  if (hasRenewed) return seenAt
  const written = Date.parse(lease.spec?.renewTime ?? '')
  return Number.isNaN(written) ? seenAt : Math.min(written, seenAt)
}
