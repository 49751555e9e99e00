// Finds the object that requests approval of this digest now: a user who read it in a plan approves exactly that.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { approveErrors } from './approve-errors.ts'
import { type ApprovalRequest, requestsOf } from '#explain/approval-requests.ts'

export interface Found {
  readonly object: OperationPermit | Release | FleetSource
  readonly request: ApprovalRequest
}

/** With its algorithm in front, as in plans, or without, as in statuses. Always the full digest: a prefix could be matched on purpose. */
export const digestIn = (what: string): string | undefined => /^(?:sha256:)?([0-9a-f]{64})$/.exec(what)?.[1]

export async function findRequest(client: KubeClient, digest: string): Promise<Found> {
  const inSystem = { namespace: SYSTEM_NAMESPACE }
  const [releases, sources, permits] = await Promise.all([
    listAll(client, release, inSystem),
    listAll(client, fleetSource, inSystem),
    listAll(client, operationPermit),
  ])
  for (const object of [...releases, ...sources, ...permits]) {
    const request = requestsOf(object).find((r) => r.digest === digest)
    if (request !== undefined) return { object, request }
  }
  throw new KubeNodeError(approveErrors.KN1349({ digest: `sha256:${digest}` }))
}
