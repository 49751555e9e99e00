// Whether a program runs, as far as its Lease shows: judged by changes that we observed, on our own clock. Times in a Lease come from clocks that may be wrong. Pure.
import { DEFAULT_LEADER_TIMES } from '#runtime/leader.ts'
import { holderOf, isOver, type Lease, type Sighting, sighted } from '#runtime/lease.ts'
import type { Program } from '#explain/programs.ts'
import { defined } from '#lib/defined.ts'

/** Another candidate takes a moment to lead; a restarted program takes its own Lease back as soon. */
const HANDOVER_MS = 5_000

export type ProgramReading =
  | { readonly kind: 'Lease'; readonly lease: Lease }
  | { readonly kind: 'Absent' }
  | { readonly kind: 'NotRead'; readonly message: string }

export interface ProgramState {
  readonly metadata: { readonly name: string }
  readonly program: Program
  /** Unknown: watched for less than a lease lasts, or its Lease cannot be read. Unknown is never well. */
  readonly state: 'Unknown' | 'Runs' | 'Away'
  /** Why its Lease cannot be read. */
  readonly message?: string
  /** Of a program that is away. Stopped: its Lease has a holder that does not renew it. Released: it ended in order. Absent: there is no Lease. */
  readonly how?: 'Stopped' | 'Released' | 'Absent'
  /** When it last renewed its Lease. */
  readonly since?: number
}

/** What we remember between two readings. */
export interface Watching {
  readonly look: ProgramState
  readonly sighting?: Sighting
  /** When we first saw the Lease as it is, by our wall clock. */
  readonly seenAt: number
  /** We saw the Lease change while we watched. */
  readonly hasRenewed: boolean
}

export interface Instant {
  readonly monotonic: number
  readonly now: number
}

export const notYetRead = (program: Program, name: string): Watching => ({
  look: { metadata: { name }, program, state: 'Unknown' },
  seenAt: 0,
  hasRenewed: false,
})

export function watched(before: Watching, reading: ProgramReading, at: Instant): Watching {
  const { metadata, program } = before.look
  const base = { metadata, program }
  // While nothing can be read a holder may not have been able to renew either: watching begins again.
  if (reading.kind === 'NotRead')
    return { ...notYetRead(program, metadata.name), look: { ...base, state: 'Unknown', message: reading.message } }
  const lease = reading.kind === 'Lease' ? reading.lease : undefined
  const sighting = lease === undefined ? absence(before, at) : sighted(lease, before.sighting, at.monotonic)
  const isSame = sighting === before.sighting
  const hasRenewed = isSame ? before.hasRenewed : lease !== undefined && before.sighting !== undefined
  const seenAt = isSame ? before.seenAt : at.now
  const memory = { sighting, seenAt, hasRenewed }
  // A Lease that is deleted brings nothing back.
  const wasAway = before.look.state === 'Away' && (isSame || lease === undefined)
  if (wasAway || isAway(lease, sighting, at)) {
    const since = wasAway ? before.look.since : sinceOf(lease, before, memory)
    const how = lease === undefined ? 'Absent' : holderOf(lease) === undefined ? 'Released' : 'Stopped'
    return { ...memory, look: { ...base, state: 'Away', how, ...defined({ since }) } }
  }
  // Until its time is over, a program that ran is taken to run.
  const isKnown = hasRenewed || (lease === undefined && before.look.state === 'Runs')
  return { ...memory, look: { ...base, state: isKnown ? 'Runs' : 'Unknown' } }
}

const ABSENT = 'absent'

const absence = ({ sighting }: Watching, { monotonic }: Instant): Sighting =>
  sighting?.version === ABSENT ? sighting : { version: ABSENT, at: monotonic }

function isAway(lease: Lease | undefined, sighting: Sighting, { monotonic }: Instant): boolean {
  if (lease === undefined || holderOf(lease) === undefined) return monotonic - sighting.at >= HANDOVER_MS
  return isOver(lease, sighting, monotonic - HANDOVER_MS, DEFAULT_LEADER_TIMES.leaseMs)
}

/** What we saw ourselves counts. Of a Lease that never changed before us only its own time is known, and it is no later than our first sight of it. */
function sinceOf(
  lease: Lease | undefined,
  before: Watching,
  { seenAt, hasRenewed }: Pick<Watching, 'seenAt' | 'hasRenewed'>,
): number | undefined {
  if (lease === undefined) return before.look.state === 'Runs' ? seenAt : undefined
  if (hasRenewed) return seenAt
  const written = Date.parse(lease.spec?.renewTime ?? '')
  return Number.isNaN(written) ? seenAt : Math.min(written, seenAt)
}
