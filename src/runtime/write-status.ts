// Writes an object's status if it differs from the one that was read, and only to the object that the caller decided about. Every write carries the UID, and
// the version too unless the caller gives a reason against it, so no other program's write is lost.
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { fitTexts } from '#api/schema/fit-texts.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ResourceType, apiVersionOf } from '#api/schema/resource.ts'
import type { SharedInformer } from './informers.ts'
import { preconditionsOf } from './preconditions.ts'

export interface StatusWrite<T extends KubeObject> {
  readonly client: KubeClient
  readonly type: ResourceType<T>
  /** The object that the status was computed from, as the server sent it. */
  readonly object: T
  readonly status: object
  readonly fieldManager: string
  /** The cache the object came from. It shows the write before the watch delivers it. */
  readonly cache?: Pick<SharedInformer<T>, 'assume'>
  readonly signal?: AbortSignal | undefined
  /** Set if other programs write the same status. Without it the caller owns the whole status, and a write removes all other fields. */
  readonly shared?: SharedStatus
}

interface SharedStatus {
  /** This writer's fields before the write. */
  readonly before: object | undefined
  /** `Object`: over any version. For a status that an agent writes often, when the two never write the same field. */
  readonly over: 'Version' | 'Object'
}

/** Undefined if the server already has this status. A conflict is not retried here: the caller computes the status again from the newer object. */
export async function writeStatus<T extends KubeObject>(write: StatusWrite<T>): Promise<WriteOutcome<T> | undefined> {
  const { client, type, object, fieldManager, cache, signal, shared } = write
  const status = fitted(type, write.status)
  if (jsonEqual(shared === undefined ? object['status'] : shared.before, status)) return undefined
  const { uid, resourceVersion } = preconditionsOf(object)
  const { name, namespace } = object.metadata
  const metadata = {
    name,
    ...defined({ namespace }),
    uid,
    ...(shared?.over !== 'Object' && { resourceVersion }),
  }
  // Send only the status: the rest of the object may contain secret values filled in after the read.
  const sent = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, status }
  const options = { fieldManager, subresource: 'status', ...defined({ signal }) }
  const outcome = await outcomeOf(() =>
    shared === undefined
      ? client.update<T>(type, sent as unknown as T, options)
      : client.apply<T>(type, sent as unknown as KubeObject, { ...options, force: true }),
  )
  if (outcome.kind === 'Applied') cache?.assume(outcome.object)
  return outcome
}

/** One overlong sentence would cost the whole status, and every decision based on it. */
function fitted({ schema }: ResourceType, status: object): object {
  const of = schema?.properties?.['status']
  return of === undefined ? status : (fitTexts(of, status) as object)
}

/** For callers whose queue retries after an error. A deleted object needs no status. */
export function writtenOrThrow<T>(outcome: WriteOutcome<T> | undefined): T | undefined {
  if (outcome === undefined || outcome.kind === 'Stale') return undefined
  if (outcome.kind !== 'Applied') throw outcome.error
  return outcome.object
}
