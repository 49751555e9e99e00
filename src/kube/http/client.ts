// The client port over HTTPS: paths, bodies and responses of the Kubernetes API. Sockets and deadlines are in transport.ts.
import { coreKind } from '../core-kinds.ts'
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { systemRandom, type Random } from '#lib/random.ts'
import type { KubeObject, Status } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import type {
  ApplyOptions,
  DeleteOptions,
  GetOptions,
  KubeClient,
  ListOptions,
  ListPage,
  Patch,
  RawRequest,
  RawResponse,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../client.ts'
import { ApiError, ConnectionError, failure, isTooLong, statusFrom } from '../errors.ts'
import {
  collectionCall,
  deleteBody,
  deletionOf,
  JSON_TYPE,
  notUnderstood,
  objectCall,
  pageOf,
  targetOf,
  withBody,
  type ApiCall,
} from './api-call.ts'
import type { ConnectionConfig } from './connection.ts'
import { laneOf } from './request-lanes.ts'
import { linesOf } from './lines.ts'
import { listQuery, watchQuery, writeQuery } from './query.ts'
import { parseRetryAfter, retryAfterMs } from './retry.ts'
import {
  bodyText,
  defaultTimeouts,
  headerOf,
  isTlsRefusal,
  reasonOf,
  Transport,
  type Timeouts,
  type WireRequest,
  type WireResponse,
} from './transport.ts'
import { eventOf } from './watch-event.ts'
import { kubeErrors } from '../kube-errors.ts'

export interface HttpClientOptions {
  readonly clock?: Clock
  readonly random?: Random
  readonly timeouts?: Partial<Timeouts>
  /** "kubenode-machine/0.1.0"; the server writes it into managedFields if no manager is named, and into its audit log. */
  readonly userAgent?: string
  /** The server as messages name it. */
  readonly place?: string
  /** Maximum requests in flight per lane: ten thousand low-traffic clients open few connections. */
  readonly atOnce?: number
  /** For a server that its own administrators control: what may be in memory of it. */
  readonly bounds?: AnswerBounds
  /** How long a request waits for a busy connection before opening another. */
  readonly patienceMs?: number
  /** Called when a request has no answer after SLOW_MS, retries included. */
  readonly onSlow?: (method: string, path: string) => void
  /** Called before a request is sent. */
  readonly onRequest?: (method: string, path: string) => void
}

/** In characters. Parsed, hostile JSON takes eleven times as much. */
export interface AnswerBounds {
  /** An answer that is parsed. */
  readonly parsed: number
  /** One that stays text. */
  readonly text: number
  /** A list that is kept as a whole. */
  readonly listed: number
}

/** A refusal repeats at most a part of what was sent. Any server may refuse, so its text has the same bound for all of them. */
const MAX_REFUSAL_LENGTH = 1024 * 1024

/** How long a user waits without a message. */
export const SLOW_MS = 3_000

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

export class HttpKubeClient implements KubeClient {
  readonly place?: string
  readonly mostListed?: number
  readonly #bounds: AnswerBounds | undefined
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #random: Random
  readonly #onSlow: HttpClientOptions['onSlow']
  readonly #onRequest: HttpClientOptions['onRequest']

  constructor(config: ConnectionConfig, options: HttpClientOptions = {}) {
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#onSlow = options.onSlow
    this.#onRequest = options.onRequest
    if (options.place !== undefined) this.place = options.place
    this.#bounds = options.bounds
    if (options.bounds !== undefined) this.mostListed = options.bounds.listed
    this.#transport = new Transport(
      config,
      this.#clock,
      { ...defaultTimeouts, ...options.timeouts },
      { userAgent: options.userAgent ?? 'kubenode', atOnce: options.atOnce, patienceMs: options.patienceMs },
    )
  }

  /** Closes a burst's idle sockets at once, except one. Calls in flight continue. */
  rest(): void {
    this.#transport.rest()
  }

  /** Closes all sockets, idle and busy. Calls in flight fail. */
  close(): void {
    this.#transport.close()
  }

  async get<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: GetOptions = {},
  ): Promise<T | undefined> {
    const call = objectCall('GET', 'get', type, key, options, options.subresource)
    try {
      return await this.#object<T>(call)
    } catch (e) {
      // A 404 that names no object is about the kind or the path, not about the object.
      if (e instanceof ApiError && e.status === 404 && e.details?.name !== undefined) return undefined
      throw e
    }
  }

  async list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    const call = collectionCall('GET', 'list', type, options.namespace, listQuery(options), options)
    const { value, size } = await this.#parsed(call)
    return { ...pageOf<T>(type, value, call), size }
  }

  create<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name, generateName } = object.metadata
    const call = collectionCall(
      'POST',
      'create',
      type,
      type.namespaced ? (namespace ?? 'default') : undefined,
      writeQuery(options),
      options,
    )
    return this.#object<T>({
      ...withBody(call, object),
      target: targetOf(type, { namespace, name: name ?? `${generateName ?? ''}*` }),
    })
  }

  update<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const call = objectCall('PUT', 'update', type, objectKey(object), options, options.subresource, writeQuery(options))
    return this.#object<T>(withBody(call, object))
  }

  patch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    change: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const call = objectCall('PATCH', 'patch', type, key, options, options.subresource, writeQuery(options))
    return this.#object<T>(
      withBody(call, change.type === 'json' ? change.operations : change.value, PATCH_TYPES[change.type]),
    )
  }

  apply<T extends KubeObject>(type: ResourceType<T>, object: KubeObject, options: ApplyOptions): Promise<T> {
    const call = objectCall(
      'PATCH',
      'apply',
      type,
      objectKey(object),
      options,
      options.subresource,
      writeQuery(options),
    )
    return this.#object<T>(withBody(call, object, 'application/apply-patch+yaml'))
  }

  async delete(
    type: ResourceType,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<'Deleted' | 'Deleting' | 'Gone'> {
    const call = objectCall('DELETE', 'delete', type, key, options, undefined)
    try {
      return deletionOf(await this.#json(withBody(call, deleteBody(options))))
    } catch (e) {
      if (e instanceof ApiError && e.status === 404 && e.details?.name !== undefined) return 'Gone'
      throw e
    }
  }

  async deleteCollection(type: ResourceType, which: ListOptions, options: DeleteOptions = {}): Promise<void> {
    const call = collectionCall('DELETE', 'delete all', type, which.namespace, listQuery(which), options)
    await this.#json(withBody(call, deleteBody(options)))
  }

  async scale(type: ResourceType, key: ObjectKey, replicas: number, options: WriteOptions = {}): Promise<void> {
    const call = objectCall('PATCH', 'scale', type, key, options, 'scale', writeQuery(options))
    await this.#json(withBody(call, { spec: { replicas } }, PATCH_TYPES.merge))
  }

  async evict(pod: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const type = coreKind('Pod')
    const namespace = pod.namespace ?? 'default'
    const call = objectCall('POST', 'evict', type, { ...pod, namespace }, options, 'eviction')
    await this.#json(
      withBody(call, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod.name, namespace },
        deleteOptions: deleteBody(options),
      }),
    )
  }

  /** Returns whatever status the server sends. */
  async raw(request: RawRequest): Promise<RawResponse> {
    const [path = ''] = request.path.split('?')
    const call: ApiCall = {
      method: request.method,
      action: request.method,
      target: path,
      path: request.path,
      type: undefined,
      isCollection: true,
      subresource: undefined,
      isWatch: false,
      body:
        request.body === undefined
          ? undefined
          : typeof request.body === 'string'
            ? request.body
            : JSON.stringify(request.body),
      contentType: request.body === undefined ? undefined : JSON_TYPE,
      headers: request.headers ?? {},
      options: request,
    }
    const answer = await this.#answer(call, false)
    const headers: Record<string, string> = {}
    for (const [k, v] of Object.entries(answer.headers)) if (v !== undefined) headers[k] = v
    return { status: answer.status, headers, text: answer.text }
  }

  async *watch<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const call = {
      ...collectionCall('GET', 'watch', type, options.namespace, watchQuery(options), options),
      isWatch: true,
    }
    const request = this.#wire(call)
    const response = await this.#open(request, call)
    try {
      options.onOpen?.()
      for await (const line of linesOf(response.body as AsyncIterable<Buffer>))
        yield eventOf<T>(type, line, { action: 'watch', target: call.target, requestId: response.requestId })
    } catch (e) {
      throw reasonOf(request, response.state, e)
    } finally {
      response.body.destroy()
      response.state.end()
    }
  }

  async #object<T extends KubeObject>(call: ApiCall): Promise<T> {
    const value = await this.#json(call)
    if (!isObject(value) || !isObject(value['metadata'])) throw notUnderstood(call, 'not an object')
    return value as unknown as T
  }

  async #json(call: ApiCall): Promise<unknown> {
    return (await this.#parsed(call)).value
  }

  async #parsed(call: ApiCall): Promise<{ readonly value: unknown; readonly size: number }> {
    const { text } = await this.#answer(call, true)
    try {
      return { value: JSON.parse(text), size: text.length }
    } catch (e) {
      throw notUnderstood(call, `${text.length} characters that are not JSON`, e)
    }
  }

  async #answer(call: ApiCall, throwRefusals: boolean): Promise<Answer> {
    const request = this.#wire(call)
    this.#onRequest?.(call.method, request.path)
    const slow = this.#onSlow && this.#clock.after(SLOW_MS, () => this.#onSlow?.(call.method, request.path))
    try {
      return await this.#answerTo(request, call, throwRefusals)
    } finally {
      slow?.cancel()
    }
  }

  /** Sends until there is an answer or a retry is pointless. */
  async #answerTo(request: WireRequest, call: ApiCall, throwRefusals: boolean): Promise<Answer> {
    const isRead = call.method === 'GET'
    const most = throwRefusals ? this.#bounds?.parsed : this.#bounds?.text
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.#open(request, call, throwRefusals)
        const text = await bodyText(request, response, most)
        return { status: response.status, headers: flat(response.headers), text }
      } catch (error) {
        const wait = request.signal?.aborted
          ? undefined
          : retryAfterMs({ error, attempt, isRead, isEviction: call.subresource === 'eviction' }, this.#random.next())
        if (wait === undefined) throw error
        await this.#clock.sleep(wait, request.signal)
      }
    }
  }

  /** A successful response. Refreshes credentials once if they seem to be the reason for a refusal. */
  async #open(request: WireRequest, call: ApiCall, throwRefusals = true): Promise<WireResponse> {
    const first = await this.#try(request, call, throwRefusals)
    if (!(first instanceof Error)) return first
    // A 401 or a refused certificate has no effect on the server, so even a write may be sent again.
    if (!(await this.#transport.credentials.refresh(request.used))) throw first
    const second = await this.#try(request, call, throwRefusals)
    if (second instanceof Error) throw second
    return second
  }

  /** Returns errors that fresh credentials may fix; throws all others. */
  async #try(request: WireRequest, call: ApiCall, throwRefusals: boolean): Promise<WireResponse | Error> {
    let response: WireResponse
    try {
      response = await this.#transport.send(request)
    } catch (e) {
      if (e instanceof Error && isTlsRefusal(e)) return e
      throw e
    }
    if (response.status >= 200 && response.status < 300) return response
    if (!throwRefusals && response.status !== 401) return response
    const error = await this.#refusal(request, response, call)
    if (response.status === 401) return error
    throw error
  }

  async #refusal(request: WireRequest, response: WireResponse, call: ApiCall): Promise<ApiError> {
    return new ApiError(await this.#statusOf(request, response), {
      action: call.action,
      target: call.target,
      requestId: response.requestId,
      retryAfterMs: parseRetryAfter(headerOf(response.headers, 'retry-after'), this.#clock.now()),
      sensitive: call.type?.plural === 'secrets' || call.subresource === 'token',
    })
  }

  async #statusOf(request: WireRequest, response: WireResponse): Promise<Status> {
    const { status } = response
    try {
      return statusFrom(status, parsedOr(await bodyText(request, response, MAX_REFUSAL_LENGTH)))
    } catch (e) {
      if (!isTooLong(e)) throw e
      return failure(status, `HTTP status ${status} with more than ${MAX_REFUSAL_LENGTH} characters`)
    }
  }

  #wire(call: ApiCall): WireRequest {
    if (!call.path.startsWith('/') || /[\r\n\0 ]/.test(call.path))
      throw new ConnectionError(
        kubeErrors.KN2014_path({ action: call.action, target: JSON.stringify(call.target) }),
        'no',
      )
    return {
      method: call.method,
      path: call.path,
      headers: { ...defined({ 'content-type': call.contentType }), ...call.headers },
      body: call.body,
      lane: laneOf({
        method: call.method,
        group: call.type?.group ?? '',
        isCollection: call.isCollection,
        isStatus: call.subresource === 'status',
        isWatch: call.isWatch,
      }),
      what: `${call.action} ${call.target}`,
      signal: call.options.signal,
      timeoutMs: call.options.timeoutMs,
    }
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function flat(headers: WireResponse['headers']): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, Array.isArray(v) ? v.join(', ') : v]))
}
