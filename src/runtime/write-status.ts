// Writes the status of an object when it differs from the status that was read, and only to the object that the caller decided about.
// Every write carries the UID, and the version too unless the caller says why it cannot, so that no write of another program is lost.
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
  /** The cache that the object was read from. It shows the write before the watch delivers it. */
  readonly cache?: Pick<SharedInformer<T>, 'assume'>
  readonly signal?: AbortSignal | undefined
  /** Set when other programs write to the same status. Without it the caller owns the whole status, and the next write removes every other field. */
  readonly shared?: SharedStatus
}

interface SharedStatus {
  /** The fields of this writer before the write. */
  readonly before: object | undefined
  /** `Object`: any version of it, for a status that an agent writes often, where the two never write the same field. */
  readonly over: 'Version' | 'Object'
}

/** Undefined: the server has this status already. A conflict is not retried here: the caller computes the status again from the newer object. */
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
  // Only the status is sent: the rest of the object may contain secret values that were filled in after the read.
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

/** A sentence that is too long would cost the whole status, and everything that is decided from it. */
function fitted({ schema }: ResourceType, status: object): object {
  const of = schema?.properties?.['status']
  return of === undefined ? status : (fitTexts(of, status) as object)
}

/** For callers whose queue retries after an error. An object that no longer exists needs no status. */
export function writtenOrThrow<T>(outcome: WriteOutcome<T> | undefined): T | undefined {
  if (outcome === undefined || outcome.kind === 'Stale') return undefined
  if (outcome.kind !== 'Applied') throw outcome.error
  return outcome.object
}
