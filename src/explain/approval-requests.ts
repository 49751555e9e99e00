// What an object currently asks users to approve: a permit its operations, a Release its deletions or, if there are none, everything it applies. Pure.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { assertNever } from '#lib/errors.ts'
import { hasEnded } from '#permits/permits.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { pruneText } from '#sync/release/cluster-trouble.ts'

export interface ApprovalRequest {
  readonly digest: string
  /** Text of the approved content for users; absent when it is the whole object. */
  readonly text?: string
}

/** Another signer approves the newest commit and the ones before it. */
function commitRequests({ status }: FleetSource): readonly ApprovalRequest[] {
  const { commit = '', digest, message = '' } = status?.refused ?? {}
  return digest === undefined ? [] : [{ digest, text: `commit ${shortCommit(commit)}: ${message}` }]
}

const pruneRequests = ({ status }: FleetSource): readonly ApprovalRequest[] =>
  (status?.prunes ?? []).map(({ name, held }) => ({
    digest: held.digest,
    text: `hub, track ${name}: ${pruneText(held)}`,
  }))

/** Deletions come first: approving deletions must not approve the whole release. */
export function requestsOf(object: OperationPermit | Release | FleetSource): readonly ApprovalRequest[] {
  switch (object.kind) {
    case 'OperationPermit':
      return [{ digest: approvalDigest(object.spec) }]
    case 'FleetSource':
      return [...commitRequests(object), ...pruneRequests(object)]
    case 'Release': {
      const deletions = (object.status?.clusters ?? []).flatMap(({ name, prune }) =>
        prune === undefined || prune.permit !== undefined
          ? []
          : [{ digest: prune.digest, text: `cluster ${name}: ${pruneText(prune)}` }],
      )
      return deletions.length > 0 ? deletions : [{ digest: targetsDigest(object) }]
    }
    default:
      return assertNever(object)
  }
}

/** What to add to an approval that is recorded, and that nothing waits for. `of`: the object, as the user typed it. */
export function notAwaited(
  object: OperationPermit | Release | FleetSource,
  askers: readonly unknown[] | undefined,
  of: string,
): string | undefined {
  if (object.kind === 'OperationPermit' && hasEnded(object))
    return `${of} has ended (${object.status?.phase}); this counts only for a new permit with the same operations, targets and commit`
  return object.kind === 'Release' && askers?.length === 0 ? `nothing asks for an approval of ${of} now` : undefined
}
