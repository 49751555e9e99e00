// Writes the status of an object when it differs from the one that was read, and only onto the object that was decided about.
// Others never lose what they wrote in between: the UID goes along always, and the version unless the caller says why it cannot.
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import { type ResourceType, apiVersionOf } from '#schema/resource.ts'
import type { SharedInformer } from './informers.ts'
import { preconditionsOf } from './preconditions.ts'

export interface StatusWrite<T extends KubeObject> {
  readonly client: KubeClient
  readonly type: ResourceType<T>
  /** As it was read: what the status was computed from. */
  readonly object: T
  readonly status: object
  readonly fieldManager: string
  /** Where the object was read, if it was there: it knows of the write before the watch tells of it. */
  readonly cache?: Pick<SharedInformer<T>, 'assume'>
  readonly signal?: AbortSignal | undefined
  /** Set where others write into the same status. Left out, the status is ours as a whole, and what others put into it goes with the next write. */
  readonly shared?: SharedStatus
}

export interface SharedStatus {
  /** Our fields as they were read. */
  readonly before: object | undefined
  /** `Object`: whichever version of it. For a status that an agent writes all the time, and of which the two never write the same field. */
  readonly over: 'Version' | 'Object'
}

/** Undefined: it is written already. Nothing is ever tried again here: after a conflict the status is computed from what is there then. */
export async function writeStatus<T extends KubeObject>(write: StatusWrite<T>): Promise<WriteOutcome<T> | undefined> {
  const { client, type, object, status, fieldManager, cache, signal, shared } = write
  if (jsonEqual(shared === undefined ? object['status'] : shared.before, status)) return undefined
  const { uid, resourceVersion } = preconditionsOf(object)
  const { name, namespace } = object.metadata
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    uid,
    ...(shared?.over !== 'Object' && { resourceVersion }),
  }
  // The rest of the object stays here: it may hold values that were filled in after it was read.
  const sent = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, status }
  const options = { fieldManager, subresource: 'status', ...(signal !== undefined && { signal }) }
  const outcome = await outcomeOf(() =>
    shared === undefined
      ? client.update<T>(type, sent as unknown as T, options)
      : client.apply<T>(type, sent as unknown as KubeObject, { ...options, force: true }),
  )
  if (outcome.kind === 'Applied') cache?.assume(outcome.object)
  return outcome
}

/** For callers whose queue tries again what throws. An object that is gone needs no status. */
export function writtenOrThrow<T>(outcome: WriteOutcome<T> | undefined): T | undefined {
  if (outcome === undefined || outcome.kind === 'Stale') return undefined
  if (outcome.kind !== 'Applied') throw outcome.error
  return outcome.object
}
