// Writes one object by server-side apply. Takes over other owners' fields only if the caller may.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { applyObject, type ApplyOutcome, type FieldConflict } from '#kube/apply.ts'
import type { ApplyOptions, KubeClient } from '#kube/client.ts'

export interface Writer extends Omit<ApplyOptions, 'force'> {
  readonly client: KubeClient
  /** Whether to take over fields of these owners. `Always` sends one request instead of two. */
  readonly takes: 'Always' | ((conflicts: readonly FieldConflict[]) => boolean | Promise<boolean>)
}

export async function writeObject(
  { client, takes, ...options }: Writer,
  type: ResourceType,
  object: KubeObject,
): Promise<ApplyOutcome<KubeObject>> {
  const forced = { ...options, force: true }
  if (takes === 'Always') return applyObject(client, type, object, forced)
  const outcome = await applyObject(client, type, object, options)
  const isTaken = outcome.kind === 'Conflict' && (await takes(outcome.conflicts))
  return isTaken ? applyObject(client, type, object, forced) : outcome
}
