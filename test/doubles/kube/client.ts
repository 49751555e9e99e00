// The client port over the fake: numbers each call, lets the fault hooks have their way, and turns refusals into ApiErrors.
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ObjectKey, type ResourceType } from '#api/schema/resource.ts'
import type {
  ApplyOptions,
  CallOptions,
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
} from '#kube/client.ts'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import type { Core } from './core.ts'
import type { Call, CallFault, FaultPort, GatePoint, Verb } from './faults.ts'
import { Refusal } from './object-rules.ts'
import { answerRaw } from './raw.ts'
import { get, list } from './reads.ts'
import { evict, scale, scaleOf } from './subresources.ts'
import type { FakeWatch } from './watch.ts'
import { apply, create, patch, remove, update } from './writes.ts'
import { kubeErrors } from '#kube/kube-errors.ts'

type Parts = Partial<Pick<Call, 'type' | 'namespace' | 'name' | 'subresource' | 'isWrite' | 'isDryRun'>>

/** What a crashed process sees of the world: nothing, for ever. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined)

/** What a client needs of the fake that it is connected to. */
export interface Server {
  readonly core: Core
  readonly faults: FaultPort
  count(
    actor: string,
    verb: Verb,
    parts: Pick<Call, 'type' | 'namespace' | 'name' | 'subresource' | 'isWrite' | 'isDryRun'>,
  ): Call
  openWatch(actor: string, type: ResourceType, options: WatchOptions): FakeWatch
  closeWatch(watch: FakeWatch): void
}

export class FakeClient implements KubeClient {
  readonly #fake: Server
  readonly #actor: string
  #crashed = false

  constructor(fake: Server, actor: string) {
    this.#fake = fake
    this.#actor = actor
  }

  get<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey, options: GetOptions = {}): Promise<T | undefined> {
    const { subresource } = options
    return this.#run('get', options, { type, ...key, subresource }, () => {
      const found = get(this.#fake.core, type, key, this.#horizon())
      if (found === undefined || subresource === undefined || subresource === 'status') return found as T | undefined
      return scaleOf(this.#fake.core, type, found) as T
    })
  }

  list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    return this.#run(
      'list',
      options,
      { type, namespace: options.namespace },
      () => list(this.#fake.core, type, options, this.#horizon()) as ListPage<T>,
    )
  }

  create<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata
    return this.#write(
      'create',
      options,
      { type, namespace, name },
      (call) => create(this.#fake.core, type, object, options, call) as T,
    )
  }

  update<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata
    return this.#write(
      'update',
      options,
      { type, namespace, name },
      (call) => update(this.#fake.core, type, object, options, call) as T,
    )
  }

  patch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    change: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write(
      'patch',
      options,
      { type, ...key },
      (call) => patch(this.#fake.core, type, key, change, options, call) as T,
    )
  }

  apply<T extends KubeObject>(type: ResourceType<T>, object: KubeObject, options: ApplyOptions): Promise<T> {
    const { namespace, name } = object.metadata
    return this.#write(
      'apply',
      options,
      { type, namespace, name },
      (call) => apply(this.#fake.core, type, object, options, call) as T,
    )
  }

  async delete(
    type: ResourceType,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<'Deleted' | 'Deleting' | 'Gone'> {
    try {
      return await this.#write('delete', options, { type, ...key }, (call) => {
        const left = remove(this.#fake.core, type, key, options, call)
        return left === undefined ? 'Deleted' : 'Deleting'
      })
    } catch (e) {
      if (e instanceof ApiError && e.status === 404) return 'Gone'
      throw e
    }
  }

  async deleteCollection(type: ResourceType, which: ListOptions, options: DeleteOptions = {}): Promise<void> {
    await this.#write('deletecollection', options, { type, namespace: which.namespace }, (call) => {
      for (const o of list(this.#fake.core, type, which, undefined).items) {
        const { namespace, name = '' } = o.metadata
        remove(this.#fake.core, type, { namespace, name }, options, call)
      }
    })
  }

  async scale(type: ResourceType, key: ObjectKey, replicas: number, options: WriteOptions = {}): Promise<void> {
    await this.#write('scale', options, { type, ...key, subresource: 'scale' }, (call) =>
      scale(this.#fake.core, type, key, replicas, options, call),
    )
  }

  async evict(pod: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const type = coreKind('Pod')
    await this.#write('evict', options, { type, ...pod, subresource: 'eviction' }, (call) =>
      evict(this.#fake.core, pod, options, call),
    )
  }

  raw(request: RawRequest): Promise<RawResponse> {
    return this.#run('raw', request, { isWrite: request.method !== 'GET' }, (call) =>
      answerRaw(this.#fake.core, request, call),
    )
  }

  async *watch<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { signal } = options
    const watch = await this.#run('watch', options, { type, namespace: options.namespace }, () =>
      this.#fake.openWatch(this.#actor, type, options),
    )
    const onAbort = () => watch.close()
    signal?.addEventListener('abort', onAbort, { once: true })
    // Aborted while the watch was being opened: no event will tell.
    if (signal?.aborted === true) onAbort()
    try {
      options.onOpen?.()
      for (;;) {
        const item = await watch.next()
        if (this.#crashed) await never()
        if (item === undefined) signal?.throwIfAborted()
        if (item === undefined || item.kind === 'end') return
        if (item.kind === 'lost')
          throw new ConnectionError(
            kubeErrors.KN2001({ action: `watch ${qualifiedPlural(type)}`, why: 'the connection was lost' }),
            'no',
          )
        if (item.kind === 'error')
          throw new ApiError(item.refusal.status, { action: 'watch', target: qualifiedPlural(type) })
        await this.#pass({ at: 'event', watch: watch.info, event: item.event })
        yield item.event as WatchEvent<T>
      }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#fake.closeWatch(watch)
    }
  }

  #horizon(): number | undefined {
    return this.#fake.faults.horizon?.(this.#actor)
  }

  #write<R>(verb: Verb, options: WriteOptions | DeleteOptions, parts: Parts, run: (call: Call) => R): Promise<R> {
    const subresource = 'subresource' in options ? options.subresource : undefined
    return this.#run(verb, options, { isWrite: true, isDryRun: options.dryRun === true, subresource, ...parts }, run)
  }

  async #run<R>(verb: Verb, options: CallOptions, parts: Parts, run: (call: Call) => R): Promise<R> {
    if (this.#crashed) return never()
    options.signal?.throwIfAborted()
    const call = this.#fake.count(this.#actor, verb, {
      type: undefined,
      namespace: undefined,
      name: undefined,
      subresource: undefined,
      isWrite: false,
      isDryRun: false,
      ...parts,
    })
    await this.#pass({ at: 'call', call })
    const fault = this.#fake.faults.call?.(call)
    if (fault?.when === 'before') await this.#suffer(fault, call, options)
    const result = this.#effect(call, run)
    if (fault?.when === 'after') await this.#suffer(fault, call, options)
    await this.#pass({ at: 'reply', call })
    return result
  }

  async #pass(point: GatePoint): Promise<void> {
    await this.#fake.faults.gate?.(point)
    if (this.#crashed) await never()
  }

  #effect<R>(call: Call, run: (call: Call) => R): R {
    try {
      return run(call)
    } catch (e) {
      if (e instanceof Refusal) throw new ApiError(e.status, contextOf(call))
      throw e
    }
  }

  async #suffer(fault: CallFault, call: Call, options: CallOptions): Promise<void> {
    switch (fault.kind) {
      case 'crash':
        this.#crashed = true
        this.#fake.faults.crashed?.(call)
        return never()
      case 'lose':
        throw lost(call)
      case 'refuse': {
        const details =
          fault.retryAfterSeconds === undefined ? undefined : { retryAfterSeconds: fault.retryAfterSeconds }
        throw new ApiError(failure(fault.code, `injected ${fault.code}`, details), contextOf(call))
      }
      case 'delay':
        return this.#delay(fault.ms, call, options)
    }
  }

  async #delay(ms: number, call: Call, { signal, timeoutMs }: CallOptions): Promise<void> {
    const limit = timeoutMs ?? Number.POSITIVE_INFINITY
    await this.#fake.core.clock.sleep(Math.min(ms, limit), signal)
    if (ms >= limit) throw lost(call)
    if (this.#crashed) await never()
  }
}

const targetOf = (call: Call): string => {
  if (call.type === undefined) return 'a raw path'
  const key = [call.namespace, call.name].filter((p) => p !== undefined).join('/')
  return `${qualifiedPlural(call.type)}${key === '' ? '' : `/${key}`}`
}

const contextOf = (call: Call) => ({
  action: call.verb,
  target: targetOf(call),
  sensitive: call.type?.kind === 'Secret',
})

const lost = (call: Call) =>
  new ConnectionError(
    kubeErrors.KN2001({
      action: `${call.verb} ${targetOf(call)}`,
      why: 'the connection was lost before the reply came',
    }),
    call.isWrite ? 'unknown' : 'no',
  )
