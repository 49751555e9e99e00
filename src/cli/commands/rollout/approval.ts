// Builds an Approval for exactly what an object requests now. It does not cover later changes.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Approval } from '#api/kinds/approval.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { groupsToName } from '#explain/approvers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Person } from '#kube/current-person.ts'
import { approveErrors } from './approve-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface ApproveRequest {
  readonly reason: string | undefined
  readonly for: string
}

type ApprovableKind = NonNullable<Approval['spec']['of']>['kind']

const LONGEST_MS = 7 * 86_400_000
/** Leaves room for a digest within an object name. */
const MOST_OF_A_NAME = 100

/** What is approved as readable text, plus a digest that separates approvals by user and day. */
const approvalName = (of: string, ...rest: readonly string[]): string =>
  `${withoutEnd(of.slice(0, MOST_OF_A_NAME), /[.-]/)}-${sha256Hex(rest.join('\n')).slice(0, 10)}`

/** How long an approval is valid, in milliseconds. */
export function approvedFor(length: string): number {
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new KubeNodeError(approveErrors.KN1002_approval({ length: JSON.stringify(length) }))
  return ms
}

/** `asked`: the groups whose approval counts. */
export function approvalOf(
  {
    object,
    digest,
    asked = [],
  }: { readonly object: KubeObject; readonly digest: string; readonly asked?: readonly string[] },
  { name, groups: all }: Person,
  { reason, for: length }: ApproveRequest,
  now: number,
): Approval {
  const groups = groupsToName(all, asked)
  const ms = approvedFor(length)
  const of = { kind: object.kind as ApprovableKind, name: object.metadata.name ?? '' }
  const { namespace } = object.metadata
  const until = timestamp(now + ms)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Approval',
    metadata: { name: approvalName(of.name, name, digest, until) },
    spec: {
      digest,
      by: name,
      ...(groups.length > 0 && { groups }),
      of: { ...of, ...defined({ namespace }) },
      ...defined({ reason }),
      until,
    },
  }
}
