// Reads who can approve a waiting object, with the rights of the user who is about to approve it.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { assertNever } from '#lib/errors.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { type Asker, askersOfCommit, askersOfPermit, askersOfRelease } from './approvers.ts'

/** Objects that an Approval can be for. */
export type Approved =
  | (OperationPermit & { readonly kind: 'OperationPermit' })
  | (Release & { readonly kind: 'Release' })
  | (FleetSource & { readonly kind: 'FleetSource' })

/** Undefined if any user's approval counts, or the user may not read whose do. */
export async function approversAsked(
  client: KubeClient,
  object: Approved,
  digest: string,
): Promise<readonly Asker[] | undefined> {
  try {
    switch (object.kind) {
      case 'Release': {
        if (digest !== targetsDigest(object)) return undefined
        const { namespace = '' } = object.metadata
        return askersOfRelease(object, await client.get(releasePipeline, { namespace, name: object.spec.pipeline }))
      }
      case 'OperationPermit':
        return askersOfPermit(object, await listAll(client, defenderPolicy))
      case 'FleetSource':
        return digest === object.status?.refused?.digest ? askersOfCommit(object) : undefined
      default:
        return assertNever(object)
    }
  } catch (error) {
    if (!isApiError(error) || error.status !== 403) throw error
    return undefined
  }
}
