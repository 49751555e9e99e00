// The port for all calls to an API server. The HTTP adapter and the fake pass the same contract suite. A missing object is a value (`undefined`); every other
// refusal is thrown as an ApiError; `outcome.ts` turns the expected ones into values.
import type { Json } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Whole-request deadline; the adapter has a default for all calls except watches. */
  readonly timeoutMs?: number
}

export interface GetOptions extends CallOptions {
  readonly subresource?: string
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
}

export interface ListPage<T extends KubeObject = KubeObject> {
  readonly items: readonly T[]
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
  /** Characters of the answer. */
  readonly size?: number
}

export interface WatchOptions extends CallOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly resourceVersion?: string
  readonly sendInitialEvents?: boolean
  /** The server ends the watch after this time; the reflector adds jitter. */
  readonly timeoutSeconds?: number
  /** Called once the server has accepted the watch: every change since its resourceVersion follows. */
  readonly onOpen?: () => void
}

/** Bookmarks are always requested. An ERROR event is thrown as an ApiError and ends the iteration. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string
  readonly dryRun?: boolean
  readonly subresource?: string
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** Takes fields over from other managers; without it, a conflict is refused with the list of owners. */
  readonly force?: boolean
}

export type Patch =
  | { readonly type: 'json'; readonly operations: readonly Json[] }
  | { readonly type: 'merge'; readonly value: Json }
  | { readonly type: 'strategic'; readonly value: Json }

export interface DeleteOptions extends CallOptions {
  /** The delete fails with Conflict if the object was replaced. Required before every destructive delete. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly dryRun?: boolean
}

export interface RawRequest extends CallOptions {
  readonly method: string
  /** Path and query, starting with a slash. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface KubeClient {
  /** The server as messages name it, such as `context test of ~/.kube/config`. Not set in clients of programs. */
  readonly place?: string
  /** The most characters of one list that are kept in memory as a whole. Not set for servers whose administrators are trusted with this program. */
  readonly mostListed?: number
  get<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey, options?: GetOptions): Promise<T | undefined>
  list<T extends KubeObject>(type: ResourceType<T>, options?: ListOptions): Promise<ListPage<T>>
  watch<T extends KubeObject>(type: ResourceType<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>
  create<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>
  /** PUT; carries the object's own resourceVersion, so a stale copy is refused. */
  update<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>
  patch<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<T>
  /** Server-side apply of the manager's complete set of fields. */
  apply<T extends KubeObject>(type: ResourceType<T>, object: KubeObject, options: ApplyOptions): Promise<T>
  /** `Gone` if it did not exist; `Deleting` if finalizers or a grace period keep it. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<'Deleted' | 'Deleting' | 'Gone'>
  deleteCollection(type: ResourceType, list: ListOptions, options?: DeleteOptions): Promise<void>
  scale(type: ResourceType, key: ObjectKey, replicas: number, options?: WriteOptions): Promise<void>
  /** Uses the Eviction API. If a disruption budget denies it, throws an ApiError with reason TooManyRequests. */
  evict(pod: ObjectKey, options?: DeleteOptions): Promise<void>
  raw(request: RawRequest): Promise<RawResponse>
}
