// Decides what to do about an etcd member that is permanently lost while the others serve. It is replaced automatically, under a permit, because the
// replacement costs the last spare vote. Pure.
import type { MembersState } from '#controlplanes/port.ts'
import type { Reason } from '#api/catalogue.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from './actions.ts'
import { finished, permitFor } from './plan-permit.ts'
import type { Seen } from './seen.ts'

const SOON_MS = 2_000
/** Late volume attachments and stale signals resolve within this time. */
const LOST_FOR_MS = 5 * 60_000
const REPLACE_PERMIT = 'replace-member'

export interface MemberPlan {
  readonly isGranted: boolean
  readonly actions: readonly ClusterAction[]
  readonly wait: Wait<Reason>
  readonly afterMs: number
}

/** Without a majority, only a restore helps. */
export function planLostMember(seen: Seen, now: number): MemberPlan | undefined {
  const { members, state, quorumLost } = seen.plane ?? {}
  const lost = members?.lost
  if (members === undefined || lost === undefined || state !== 'Running' || quorumLost !== undefined) return undefined
  if (!(now - Date.parse(lost.since) >= LOST_FOR_MS)) return undefined
  const number = members.replaced + 1
  const reason = `replace member ${lost.name} of etcd: ${lost.why}`
  const step = permitFor(seen, `${REPLACE_PERMIT}-${number}`, reason, now)
  if (step.kind !== 'Granted')
    return {
      isGranted: false,
      actions: step.actions,
      wait: { ...step.wait, seen: `${lostText(lost)}; ${step.wait.seen}` },
      afterMs: step.afterMs ?? SOON_MS,
    }
  return {
    isGranted: true,
    actions: [
      ...step.actions,
      { kind: 'ReplaceMember', reason, number, by: byPermit(step.permit) },
      ...finished(seen, step.permit),
    ],
    wait: {
      predicate: 'MemberLost',
      seen: lostText(lost),
      unblock: 'it gets an empty volume, and its data from the other members; nothing is to be done',
    },
    afterMs: SOON_MS,
  }
}

/** The permit of a replacement that another pass finished. */
export const isOfReplacement = (name: string, { plane }: Seen): boolean =>
  plane?.members !== undefined && name.includes(`-${REPLACE_PERMIT}-${plane.members.replaced}-b`)

const lostText = ({ name, since, why }: NonNullable<MembersState['lost']>): string =>
  `member ${name} of etcd is lost since ${since}: ${why}`
