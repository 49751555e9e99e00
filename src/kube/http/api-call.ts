// Maps client port calls to HTTP: method, path and body of requests, meaning of responses. Pure.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import {
  apiVersionOf,
  collectionPath,
  objectPath,
  qualifiedPlural,
  type ObjectKey,
  type ResourceType,
} from '#api/schema/resource.ts'
import type { CallOptions, DeleteOptions, ListPage } from '../client.ts'
import { ConnectionError } from '../errors.ts'
import { kubeErrors } from '../kube-errors.ts'
import { isLongVersion } from '../resource-version.ts'

export const JSON_TYPE = 'application/json'

/** One call before serialization. */
export interface ApiCall {
  readonly method: string
  /** "update", "list" … for messages. */
  readonly action: string
  readonly target: string
  readonly path: string
  readonly type: ResourceType | undefined
  readonly isCollection: boolean
  readonly subresource: string | undefined
  readonly isWatch: boolean
  readonly body: string | undefined
  readonly contentType: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly options: CallOptions
}

export function targetOf(type: ResourceType, key: ObjectKey): string {
  return [qualifiedPlural(type), ...(key.namespace === undefined ? [] : [key.namespace]), key.name].join('/')
}

/** Nothing else is allowed in a path: an empty name would mean the whole collection, and `..` the level above. */
const isPathSegment = (name: string): boolean => name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name)

export function objectCall(
  method: string,
  action: string,
  type: ResourceType,
  key: ObjectKey,
  options: CallOptions,
  subresource: string | undefined,
  search = '',
): ApiCall {
  const scoped: ObjectKey = type.namespaced ? { ...key, namespace: key.namespace ?? 'default' } : { name: key.name }
  const target = targetOf(type, scoped)
  const bad = [scoped.name, scoped.namespace ?? 'default'].find((part) => !isPathSegment(part))
  if (bad !== undefined)
    throw new KubeNodeError(kubeErrors.KN2014({ action, target, bad: JSON.stringify(bad) }), { retry: 'never' })
  return {
    method,
    action,
    target: subresource === undefined ? target : `${target} (${subresource})`,
    path: `${objectPath(type, scoped, subresource)}${search}`,
    type,
    isCollection: false,
    subresource,
    isWatch: false,
    body: undefined,
    contentType: undefined,
    headers: {},
    options,
  }
}

export function collectionCall(
  method: string,
  action: string,
  type: ResourceType,
  namespace: string | undefined,
  search: string,
  options: CallOptions,
): ApiCall {
  const at = namespace === '' ? undefined : namespace
  return {
    method,
    action,
    target: at === undefined ? qualifiedPlural(type) : `${qualifiedPlural(type)} in ${at}`,
    path: `${collectionPath(type, at)}${search}`,
    type,
    isCollection: true,
    subresource: undefined,
    isWatch: false,
    body: undefined,
    contentType: undefined,
    headers: {},
    options,
  }
}

export const withBody = (call: ApiCall, body: unknown, contentType = JSON_TYPE): ApiCall => ({
  ...call,
  body: JSON.stringify(body),
  contentType,
})

export const deleteBody = (o: DeleteOptions) => ({
  apiVersion: 'v1',
  kind: 'DeleteOptions',
  ...defined({
    preconditions: o.preconditions,
    gracePeriodSeconds: o.gracePeriodSeconds,
    propagationPolicy: o.propagationPolicy,
  }),
  ...(o.dryRun ? { dryRun: ['All'] } : {}),
})

/** A server answers with a Status if the object was deleted, and with the object if a finalizer or grace period keeps it. */
export function deletionOf(answer: unknown): 'Deleted' | 'Deleting' {
  if (!isObject(answer) || !isObject(answer['metadata'])) return 'Deleted'
  const { finalizers, deletionGracePeriodSeconds: grace } = answer['metadata']
  const isHeld = (Array.isArray(finalizers) && finalizers.length > 0) || (typeof grace === 'number' && grace > 0)
  return isHeld ? 'Deleting' : 'Deleted'
}

/** List items of built-in kinds lack kind and apiVersion; every reader needs them. */
export function pageOf<T extends KubeObject>(type: ResourceType<T>, body: unknown, call: ApiCall): ListPage<T> {
  if (!isObject(body) || !isObject(body['metadata']) || !(body['items'] === null || Array.isArray(body['items'])))
    throw notUnderstood(call, 'not a list')
  const seen: readonly unknown[] = body['items'] ?? []
  const items = seen.filter((item) => isObject(item) && isObject(item['metadata'])) as Record<string, unknown>[]
  if (items.length < seen.length) throw notUnderstood(call, 'a list with items that are not objects')
  const apiVersion = apiVersionOf(type)
  for (const item of items) {
    item['kind'] ??= type.kind
    item['apiVersion'] ??= apiVersion
  }
  const { resourceVersion, continue: next, remainingItemCount } = body['metadata']
  if (isLongVersion(resourceVersion)) throw notUnderstood(call, 'a list with a very long resourceVersion')
  return {
    items: items as unknown as readonly T[],
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    ...(typeof next === 'string' && next !== '' ? { continue: next } : {}),
    ...(typeof remainingItemCount === 'number' ? { remainingItemCount } : {}),
  }
}

export const notUnderstood = (call: ApiCall, seen: string, cause?: unknown) =>
  new ConnectionError(
    kubeErrors.KN1314_content({ action: call.action, target: call.target, seen }),
    call.method === 'GET' ? 'no' : 'unknown',
    cause,
  )
