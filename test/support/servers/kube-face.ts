// Speaks the HTTP of the Kubernetes API for the fake: paths and bodies in, calls of the client port, JSON out.
import { ApiError, failure } from '#kube/errors.ts'
import type { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient, ListOptions, Patch, WatchEvent, WatchOptions } from '#kube/client.ts'
import type { KubeObject, Status } from '#api/schema/object.ts'
import { apiVersionOf, type ObjectKey, type ResourceType } from '#api/schema/resource.ts'

export interface FaceRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly contentType: string
  readonly body: string
  readonly signal: AbortSignal
}

export type FaceAnswer =
  | { readonly kind: 'text'; readonly status: number; readonly text: string; readonly retryAfterSeconds?: number }
  | { readonly kind: 'lines'; readonly lines: AsyncIterable<string> }

interface Route {
  readonly type: ResourceType
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

const PATH = /^\/(?:api|apis\/([^/]+))\/(v[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/

function routeOf(fake: FakeKube, path: string): Route | undefined {
  const m = PATH.exec(path)
  if (!m) return undefined
  const [, group = '', version, namespace, plural, name, subresource] = m.map((p) =>
    p === undefined ? undefined : decodeURIComponent(p),
  )
  // "/namespaces/x/status" is about the namespace itself.
  const type = fake.core
    .kinds()
    .find((k) => k.type.group === group && k.type.version === version && k.type.plural === plural)?.type
  if (type !== undefined) return { type, namespace, name, subresource }
  if (group !== '' || namespace === undefined || plural === undefined || name !== undefined) return undefined
  return namespaceRoute(fake, version, namespace, plural)
}

function namespaceRoute(
  fake: FakeKube,
  version: string | undefined,
  name: string,
  subresource: string,
): Route | undefined {
  const type = fake.core
    .kinds()
    .find((k) => k.type.group === '' && k.type.version === version && k.type.plural === 'namespaces')?.type
  return type === undefined ? undefined : { type, namespace: undefined, name, subresource }
}

/** Objects of the fake are frozen, so their text never changes. */
const texts = new WeakMap<object, string>()

function textOf(object: KubeObject): string {
  let text = texts.get(object)
  if (text === undefined) {
    text = JSON.stringify(object)
    texts.set(object, text)
  }
  return text
}

export async function answer(fake: FakeKube, client: KubeClient, request: FaceRequest): Promise<FaceAnswer> {
  const url = new URL(request.url, 'https://fake')
  const route = routeOf(fake, url.pathname)
  try {
    if (route === undefined) {
      const raw = await client.raw({ method: request.method, path: request.url })
      return { kind: 'text', status: raw.status, text: raw.text }
    }
    return await routed(client, route, url.searchParams, request)
  } catch (e) {
    if (e instanceof ApiError) return refused(e)
    throw e
  }
}

function refused(e: ApiError): FaceAnswer {
  const body: Status = failure(e.status, e.serverMessage, e.details, e.reason)
  const seconds = e.retryAfterMs === undefined ? undefined : Math.ceil(e.retryAfterMs / 1_000)
  return {
    kind: 'text',
    status: e.status,
    text: JSON.stringify(body),
    ...defined({ retryAfterSeconds: seconds }),
  }
}

const ok = (value: unknown, status = 200): FaceAnswer => ({ kind: 'text', status, text: JSON.stringify(value) })

async function routed(client: KubeClient, route: Route, q: URLSearchParams, request: FaceRequest): Promise<FaceAnswer> {
  if (route.name === undefined) return collection(client, route, q, request)
  const key: ObjectKey = { namespace: route.namespace, name: route.name }
  switch (request.method) {
    case 'GET': {
      const found = await client.get(
        route.type,
        key,
        route.subresource === undefined ? {} : { subresource: route.subresource },
      )
      return found === undefined ? missing(route) : ok(found)
    }
    case 'PUT':
      return ok(await client.update(route.type, parsed(request.body) as unknown as KubeObject, writeOptions(q, route)))
    case 'PATCH':
      return patched(client, route, key, q, request)
    case 'DELETE':
      return deleted(client, route, key, request)
    case 'POST':
      return posted(client, route, key, request)
    default:
      return ok(failure(405, 'the server does not allow this method on the requested resource'), 405)
  }
}

function missing({ type, name = '' }: Route): FaceAnswer {
  const details = { name, kind: type.plural, ...(type.group === '' ? {} : { group: type.group }) }
  return ok(failure(404, `${type.plural} "${name}" not found`, details), 404)
}

async function posted(client: KubeClient, route: Route, key: ObjectKey, request: FaceRequest): Promise<FaceAnswer> {
  if (route.subresource !== 'eviction')
    return ok(failure(405, 'the server does not allow this method on the requested resource'), 405)
  const eviction = parsed(request.body)
  await client.evict(key, deleteOptions(eviction['deleteOptions']))
  return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }, 201)
}

async function patched(
  client: KubeClient,
  route: Route,
  key: ObjectKey,
  q: URLSearchParams,
  request: FaceRequest,
): Promise<FaceAnswer> {
  const value: unknown = JSON.parse(request.body)
  if (route.subresource === 'scale') {
    const spec = isObject(value) && isObject(value['spec']) ? value['spec'] : {}
    await client.scale(route.type, key, Number(spec['replicas']), { ...writeOptions(q, route) })
    return ok(await client.get(route.type, key, { subresource: 'scale' }))
  }
  if (request.contentType === 'application/apply-patch+yaml') {
    const options = {
      ...writeOptions(q, route),
      fieldManager: q.get('fieldManager') ?? '',
      force: q.get('force') === 'true',
    }
    return ok(await client.apply(route.type, value as KubeObject, options))
  }
  return ok(await client.patch(route.type, key, patchOf(request.contentType, value), writeOptions(q, route)))
}

function patchOf(contentType: string, value: unknown): Patch {
  if (contentType === 'application/json-patch+json') return { type: 'json', operations: value as never }
  return { type: contentType === 'application/merge-patch+json' ? 'merge' : 'strategic', value: value as never }
}

async function deleted(client: KubeClient, route: Route, key: ObjectKey, request: FaceRequest): Promise<FaceAnswer> {
  const before = await client.get(route.type, key)
  const outcome = await client.delete(route.type, key, deleteOptions(request.body === '' ? {} : parsed(request.body)))
  if (outcome === 'Gone') return missing(route)
  if (outcome === 'Deleting') return ok(await client.get(route.type, key))
  const details = { name: key.name, kind: route.type.plural, uid: before?.metadata.uid }
  return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details })
}

async function collection(
  client: KubeClient,
  route: Route,
  q: URLSearchParams,
  request: FaceRequest,
): Promise<FaceAnswer> {
  if (request.method === 'POST') {
    const object = parsed(request.body) as unknown as KubeObject
    const placed =
      route.namespace === undefined
        ? object
        : { ...object, metadata: { ...object.metadata, namespace: route.namespace } }
    return ok(await client.create(route.type, placed, writeOptions(q, route)), 201)
  }
  if (request.method === 'DELETE') {
    await client.deleteCollection(
      route.type,
      listOptions(q, route),
      deleteOptions(request.body === '' ? {} : parsed(request.body)),
    )
    return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' })
  }
  if (q.get('watch') === 'true' || q.get('watch') === '1')
    return { kind: 'lines', lines: lines(client, route, q, request.signal) }
  const page = await client.list(route.type, listOptions(q, route))
  const { items, ...metadata } = page
  const head = { kind: `${route.type.kind}List`, apiVersion: apiVersionOf(route.type), metadata }
  return {
    kind: 'text',
    status: 200,
    text: `${JSON.stringify(head).slice(0, -1)},"items":[${items.map(textOf).join(',')}]}`,
  }
}

async function* lines(
  client: KubeClient,
  route: Route,
  q: URLSearchParams,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const event of client.watch(route.type, watchOptions(q, route, signal)))
      yield `${eventText(route.type, event)}\n`
  } catch (e) {
    if (!(e instanceof ApiError)) throw e
    yield `${JSON.stringify({ type: 'ERROR', object: failure(e.status, e.serverMessage, e.details, e.reason) })}\n`
  }
}

function eventText(type: ResourceType, event: WatchEvent): string {
  if (event.type !== 'BOOKMARK') return `{"type":"${event.type}","object":${textOf(event.object)}}`
  const annotations = event.initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  const object = {
    kind: type.kind,
    apiVersion: apiVersionOf(type),
    metadata: { resourceVersion: event.resourceVersion, ...annotations },
  }
  return JSON.stringify({ type: 'BOOKMARK', object })
}

function parsed(body: string): Record<string, unknown> {
  const value: unknown = body === '' ? {} : JSON.parse(body)
  return isObject(value) ? value : {}
}

const text = (q: URLSearchParams, name: string): string | undefined => q.get(name) ?? undefined
const number = (q: URLSearchParams, name: string): number | undefined => (q.has(name) ? Number(q.get(name)) : undefined)

/** Drops what is not there, as exact optional properties want it. */
function present<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T
}

const writeOptions = (q: URLSearchParams, route: Route) =>
  present<{ fieldManager?: string; dryRun?: boolean; subresource?: string }>({
    fieldManager: text(q, 'fieldManager'),
    dryRun: q.get('dryRun') === 'All' ? true : undefined,
    subresource: route.subresource === 'scale' ? undefined : route.subresource,
  })

const listOptions = (q: URLSearchParams, route: Route): ListOptions =>
  present<ListOptions>({
    namespace: route.namespace,
    labelSelector: text(q, 'labelSelector'),
    fieldSelector: text(q, 'fieldSelector'),
    limit: number(q, 'limit'),
    continue: text(q, 'continue'),
    resourceVersion: text(q, 'resourceVersion'),
    resourceVersionMatch: text(q, 'resourceVersionMatch') as ListOptions['resourceVersionMatch'],
    signal: undefined,
    timeoutMs: undefined,
  })

const watchOptions = (q: URLSearchParams, route: Route, signal: AbortSignal): WatchOptions =>
  present<WatchOptions>({
    namespace: route.namespace,
    labelSelector: text(q, 'labelSelector'),
    fieldSelector: text(q, 'fieldSelector'),
    resourceVersion: text(q, 'resourceVersion'),
    sendInitialEvents: q.has('sendInitialEvents') ? q.get('sendInitialEvents') === 'true' : undefined,
    timeoutSeconds: number(q, 'timeoutSeconds'),
    signal,
    timeoutMs: undefined,
  })

function deleteOptions(body: unknown) {
  const o = isObject(body) ? body : {}
  return present<{
    preconditions?: { uid?: string }
    gracePeriodSeconds?: number
    propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
    dryRun?: boolean
  }>({
    preconditions: o['preconditions'] as { uid?: string } | undefined,
    gracePeriodSeconds: o['gracePeriodSeconds'] as number | undefined,
    propagationPolicy: o['propagationPolicy'] as 'Background' | undefined,
    dryRun: Array.isArray(o['dryRun']) && o['dryRun'].includes('All') ? true : undefined,
  })
}
