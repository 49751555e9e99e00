// The cached state of one cluster: one list-watch per kind, Machines as rows, and which topics have changed.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { ApiError, isNotFound } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ObservedNode } from '#explain/attention/observed.ts'
import { KeptBound } from '#kube/kept-bound.ts'
import { createInformer, type Informer, type InformerNotice } from '#kube/informer.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { TopicFamily } from '../protocol.ts'
import { isShownAlike, type MachineRow } from './machine-row.ts'
import { PackedMachines } from './packed-machines.ts'
import { ProgramWatch } from './program-watch.ts'
import { OtherForm, watchedObject } from './watched-object.ts'
import { LISTED_KINDS, type Watched, type WatchedKind, WATCHED, WATCHED_KINDS } from './watched-kinds.ts'

export type ConnectionState = 'Loading' | 'Connected' | 'Unreachable' | 'Refused'

/** Whether a kind's cache matches the cluster. Failed: an older state, or nothing. */
/** `NotRecorded`: of a moment in the past. */
export type ReadState = 'Read' | 'Loading' | 'Failed' | 'NotRecorded'

/** A cluster's state as the views read it. */
export interface ClusterState {
  readonly name: string
  readonly state: ConnectionState
  readonly message: string | undefined
  /** Version of its API server. */
  readonly version: string | undefined
  readState(kind: WatchedKind): ReadState
  list<K extends WatchedKind>(kind: K): readonly Watched[K][]
  machine(name: string): Watched['machines'] | undefined
  node(name: string): Watched['nodes'] | undefined
}

export interface ClusterCacheOptions {
  readonly name: string
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Lowers MOST_KEPT for tests. */
  readonly mostKept?: number
  readonly onChange: (cluster: string, topics: readonly TopicFamily[]) => void
  /** A Machine was created, changed or deleted; `isShown`: in a way that its row shows. */
  readonly onMachine: (cluster: string, name: string, isShown: boolean) => void
}

/** In characters of JSON: a hundred thousand machines. Each cluster has its own administrators, and all share the memory of the console. */
const MOST_KEPT = 48 * 1024 * 1024

/** Every topic shows whether its cluster answers. */
const ALL_FAMILIES: readonly TopicFamily[] = [
  ...new Set<TopicFamily>(WATCHED_KINDS.flatMap((kind) => WATCHED[kind].topics)),
]

export class ClusterCache implements ClusterState {
  readonly name: string
  readonly client: KubeClient
  version: string | undefined
  readonly #options: ClusterCacheOptions
  readonly #informers = new Map<WatchedKind, Informer>()
  readonly #answering = new Map<WatchedKind, boolean>()
  /** Node name → Machine, for Machines with a different name. */
  readonly #ofNodes = new Map<string, string>()
  /** Kinds that this API server does not serve, so it has no objects of them. */
  readonly #unserved = new Set<WatchedKind>()
  readonly #programs: ProgramWatch
  #trouble: { readonly state: ConnectionState; readonly message: string } | undefined
  readonly #stop = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: ClusterCacheOptions) {
    this.name = options.name
    this.client = options.client
    this.#options = options
    const { client, clock, random } = options
    this.#programs = new ProgramWatch({
      client,
      clock,
      random,
      onChange: () => options.onChange(this.name, WATCHED.programs.topics),
    })
    const kept = new KeptBound(options.mostKept ?? MOST_KEPT)
    for (const kind of LISTED_KINDS) {
      const { type, topics } = WATCHED[kind]
      const informer = createInformer<KubeObject>({
        client,
        type,
        clock,
        random,
        kept: kept.share(),
        transform: (object) => watchedObject(kind, object),
        ...(kind === 'machines' && { objects: new PackedMachines() }),
        notice: (notice) => this.#note(kind, notice),
      })
      informer.addHandler((old, now) => {
        if (kind === 'machines') this.#noteMachine(old as MachineRow | undefined, now as MachineRow | undefined)
        // Kubelets report every few minutes, and rarely anything new.
        if (kind === 'nodes' && !this.#noteNode(old as ObservedNode | undefined, now as ObservedNode | undefined))
          return
        options.onChange(this.name, topics)
      })
      this.#informers.set(kind, informer)
    }
  }

  get state(): ConnectionState {
    if ([...this.#answering.values()].some(Boolean)) return 'Connected'
    return this.#trouble?.state ?? 'Loading'
  }

  get message(): string | undefined {
    return this.state === 'Connected' ? undefined : this.#trouble?.message
  }

  list<K extends WatchedKind>(kind: K): readonly Watched[K][] {
    if (kind === 'programs') return this.#programs.states as unknown as readonly Watched[K][]
    return (this.#informers.get(kind)?.store.list() ?? []) as unknown as readonly Watched[K][]
  }

  readState(kind: WatchedKind): ReadState {
    if (kind === 'programs') return readStateOf(this.#programs.states)
    if (this.#answering.get(kind) === false) return this.#unserved.has(kind) ? 'Read' : 'Failed'
    return this.#informers.get(kind)?.isSynced === true ? 'Read' : 'Loading'
  }

  machine(name: string): Watched['machines'] | undefined {
    return this.#informers.get('machines')?.store.get({ name }) as Watched['machines'] | undefined
  }

  node(name: string): Watched['nodes'] | undefined {
    return this.#informers.get('nodes')?.store.get({ name }) as Watched['nodes'] | undefined
  }

  /** Whether the first list of every answering kind is complete. */
  get isSynced(): boolean {
    return [...this.#informers].every(([kind, i]) => i.isSynced || this.#answering.get(kind) === false)
  }

  start(): void {
    const { signal } = this.#stop
    this.#running = Promise.all([...this.#informers.values(), this.#programs].map((i) => i.run(signal)))
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the console ends'))
    await this.#running
  }

  /** Returns whether anything shows it. */
  #noteNode(old: ObservedNode | undefined, now: ObservedNode | undefined): boolean {
    if (old !== undefined && now !== undefined && isSeenAlike(old, now)) return false
    const name = (now ?? old)?.metadata.name ?? ''
    const machine = this.#ofNodes.get(name) ?? name
    if (this.machine(machine) !== undefined) this.#options.onMachine(this.name, machine, true)
    return true
  }

  #noteMachine(old: MachineRow | undefined, now: MachineRow | undefined): void {
    if (old !== undefined && old.node !== '') this.#ofNodes.delete(old.node)
    if (now !== undefined && now.node !== '') this.#ofNodes.set(now.node, now.metadata.name ?? '')
    const isShown = old === undefined || now === undefined || !isShownAlike(old, now)
    this.#options.onMachine(this.name, (now ?? old)?.metadata.name ?? '', isShown)
  }

  #note(kind: WatchedKind, notice: InformerNotice): void {
    const [before, readBefore] = [this.state, this.readState(kind)]
    if (notice.kind === 'Listed' || notice.kind === 'Watching') {
      this.#answering.set(kind, true)
      this.#trouble = undefined
    } else if (notice.kind === 'Failed') {
      this.#answering.set(kind, false)
      if (isNotFound(notice.error)) this.#unserved.add(kind)
      else this.#unserved.delete(kind)
      // Kinds fail one after the other: the first error explains why and stays.
      const trouble = troubleOf(notice.error)
      if (this.#trouble?.state !== trouble.state) this.#trouble = trouble
      const { log } = this.#options
      const what = { cluster: this.name, kind, error: messageOf(notice.error) }
      if (notice.error instanceof OtherForm) log.warn('an object does not have the form of its kind', what)
      else log.debug('cannot read a kind', what)
    } else if (notice.kind === 'HandlerFailed')
      this.#options.log.warn('cannot draw a change', { cluster: this.name, kind, error: messageOf(notice.error) })
    if (this.readState(kind) !== readBefore) this.#options.onChange(this.name, WATCHED[kind].topics)
    if (this.state === before) return
    if (this.state === 'Connected') void this.#readVersion()
    this.#options.onChange(this.name, ALL_FAMILIES)
  }

  async #readVersion(): Promise<void> {
    try {
      const { status, text } = await this.client.raw({ method: 'GET', path: '/version', signal: this.#stop.signal })
      const answer: unknown = status === 200 ? JSON.parse(text) : undefined
      const version = isObject(answer) ? answer['gitVersion'] : undefined
      if (typeof version !== 'string') return
      this.version = version.replace(/^v/, '')
      this.#options.onChange(this.name, ['clusters'])
    } catch (e) {
      this.#options.log.debug('cannot read the version', { cluster: this.name, error: messageOf(e) })
    }
  }
}

const isSeenAlike = (a: ObservedNode, b: ObservedNode): boolean =>
  a.isCordoned === b.isCordoned &&
  a.repairCordons?.join() === b.repairCordons?.join() &&
  (a.problems === b.problems || JSON.stringify(a.problems) === JSON.stringify(b.problems))

const readStateOf = (programs: readonly Watched['programs'][]): ReadState => {
  if (programs.some(({ message }) => message !== undefined)) return 'Failed'
  return programs.some(({ state }) => state === 'Unknown') ? 'Loading' : 'Read'
}

function troubleOf(error: unknown): { readonly state: ConnectionState; readonly message: string } {
  const status = error instanceof ApiError ? error.status : undefined
  const isRefused = status === 401 || status === 403
  return { state: isRefused ? 'Refused' : 'Unreachable', message: messageOf(error) }
}
