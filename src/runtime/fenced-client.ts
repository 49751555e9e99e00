// The client for controllers under leader election: it writes only during its term, and deletes only with preconditions. A request that a paused former leader
// still had in flight either finds the object unchanged or is rejected by the server.
import { KubeNodeError } from '#lib/errors.ts'
import { followSignal } from '#lib/follow-signal.ts'
import type { CallOptions, DeleteOptions, KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ObjectKey, type ResourceType, qualifiedPlural } from '#api/schema/resource.ts'
import type { LeaderContext } from './leader.ts'
import { runtimeErrors } from './runtime-errors.ts'

export function fencedClient(client: KubeClient, leader: LeaderContext): KubeClient {
  /** Refuses calls outside the term, and aborts calls in flight when it ends. */
  const fenced = async <O extends CallOptions, R>(
    what: string,
    options: O | undefined,
    run: (options: O) => Promise<R>,
  ): Promise<R> => {
    if (!leader.isLeader()) throw new KubeNodeError(runtimeErrors.KN3012_write({ what }), { retry: 'later' })
    if (options?.signal === undefined) return run({ ...options, signal: leader.signal } as O)
    const either = new AbortController()
    const unfollow = [options.signal, leader.signal].map((s) => followSignal(either, s))
    try {
      return await run({ ...options, signal: either.signal })
    } finally {
      for (const end of unfollow) end()
    }
  }
  return {
    get: (type, key, options) => client.get(type, key, options),
    list: (type, options) => client.list(type, options),
    watch: (type, options) => client.watch(type, options),
    create: async (type, object, options) =>
      fenced(`create ${objectPath(type, object)}`, options, (o) => client.create(type, object, o)),
    update: async (type, object, options) => {
      const what = `update ${objectPath(type, object)}`
      if (object.metadata.resourceVersion === undefined) throw unguarded(what, 'resourceVersion')
      return fenced(what, options, (o) => client.update(type, object, o))
    },
    patch: async (type, key, patch, options) =>
      fenced(`patch ${pathOf(type, key)}`, options, (o) => client.patch(type, key, patch, o)),
    apply: async (type, object, options) =>
      fenced(`apply ${objectPath(type, object)}`, options, (o) => client.apply(type, object, o)),
    delete: async (type, key, options) => {
      const what = `delete ${pathOf(type, key)}`
      requirePreconditions(what, type, options)
      return fenced(what, options, (o) => client.delete(type, key, o))
    },
    deleteCollection: async (type) => {
      throw unguarded(`delete all of ${qualifiedPlural(type)}`, 'preconditions for each object')
    },
    scale: async (type, key, replicas, options) =>
      fenced(`scale ${pathOf(type, key)}`, options, (o) => client.scale(type, key, replicas, o)),
    evict: async (pod, options) => {
      const what = `evict pod ${pod.namespace ?? ''}/${pod.name}`
      if (options?.preconditions?.uid === undefined) throw unguarded(what, 'preconditions.uid')
      return fenced(what, options, (o) => client.evict(pod, o))
    },
    raw: async (request) =>
      request.method === 'GET'
        ? client.raw(request)
        : fenced(`${request.method} ${request.path}`, request, (r) => client.raw(r)),
  }
}

/** The status of these kinds changes every few seconds, and the UID is enough to identify the object, as for an eviction. */
const isKnownByUid = ({ group, kind }: ResourceType): boolean =>
  (group === '' && kind === 'Pod') || (group === 'batch' && kind === 'Job')

function requirePreconditions(what: string, type: ResourceType, options: DeleteOptions | undefined): void {
  const { uid, resourceVersion } = options?.preconditions ?? {}
  if (uid !== undefined && isKnownByUid(type)) return
  if (uid === undefined || resourceVersion === undefined)
    throw unguarded(what, 'preconditions.uid and .resourceVersion')
}

const unguarded = (what: string, missing: string): KubeNodeError =>
  new KubeNodeError(runtimeErrors.KN1000_precondition({ what, missing }))

const objectPath = (type: ResourceType, { metadata: { name, namespace, generateName } }: KubeObject): string =>
  pathOf(type, { name: name ?? `${generateName ?? ''}*`, namespace })

const pathOf = (type: ResourceType, { name, namespace }: ObjectKey): string =>
  `${qualifiedPlural(type)}/${namespace === undefined ? '' : `${namespace}/`}${name}`
