// Runs one program for many Clusters of the hub: its share of them, in processes with a heap limit each. Every pass reads Clusters, Leases and kubeconfigs and
// comes to the processes that should run. It never speaks to a member cluster: one that hangs, lies or floods reaches only its own process.
import { memberName, runsOnHub } from '#api/cluster-programs.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { hostedNamespace, type HostedProgram } from '#api/names.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock } from '#lib/clock.ts'
import { MIB } from '#lib/bytes.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import type { Logger } from '#lib/log.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { type Cell, planCells } from './cells.ts'
import { entryOf } from './entries.ts'
import type { HostReport } from './figures.ts'
import { Keeper } from './keeper.ts'
import { Kubeconfigs } from './kubeconfigs.ts'
import { REPLICA_TIMES, Replicas, type ReplicaTimes } from './replicas.ts'
import { planShard } from './shard.ts'
import { usageOf } from './usage.ts'

export interface ProgramHostOptions {
  readonly program: HostedProgram
  readonly client: KubeClient
  readonly clusters: Pick<SharedInformer<Cluster>, 'list' | 'onChange' | 'isSynced'>
  readonly clock: Clock
  readonly log: Logger
  /** Unique among replicas, and a valid name of an object. */
  readonly replica: string
  readonly perProcess: number
  /** Heap of each process. */
  readonly heapMb: number
  /** Options that hold for every Cluster. */
  readonly shared: readonly string[]
  readonly logLevel: string
  readonly node: string
  readonly entry: string
  readonly env: Readonly<Record<string, string>>
  /** Folder of log files; the output of this process if left out. */
  readonly logs?: string
  readonly times?: ReplicaTimes
  readonly report: (report: HostReport) => void
}

/** Memory beside the heap: code, and buffers of requests. A process beyond its heap and this is killed, as one whose heap is full ends by itself. */
const OTHER_MB = 256
/** So long a cluster that was in a process that failed has one of its own. */
const APART_MS = 3_600_000
/** Unchanged kubeconfigs are read again this often; a rotation has time for it. */
const READ_AGAIN_MS = 30_000
const READS = 4
const FIRST_PASS_MS = 50

export class ProgramHost implements Part {
  readonly name = 'hosted-programs'
  readonly #o: ProgramHostOptions
  readonly #keeper: Keeper
  readonly #replicas: Replicas
  readonly #kubeconfigs: Kubeconfigs
  readonly #end = new AbortController()
  readonly #apartUntil = new Map<string, number>()
  readonly #files = new Map<string, { readonly path: string; readonly readAt: number }>()
  readonly #refused = new Map<string, string>()
  #cells: readonly Cell[] = []
  #running: Promise<void> = Promise.resolve()
  #news = Promise.withResolvers<void>()
  #unfollow: (() => void) | undefined

  constructor(options: ProgramHostOptions) {
    this.#o = options
    const { node, entry, env, logs, clock, client, log, program, replica: name, times = REPLICA_TIMES } = options
    this.#keeper = new Keeper({
      node,
      entry,
      env,
      clock,
      ...defined({ logs }),
      onEnd: (cell, how, againInMs) => this.#failed(cell, how, againInMs),
    })
    this.#replicas = new Replicas({ client, clock, log, namespace: hostedNamespace(program), name, times })
    this.#kubeconfigs = new Kubeconfigs(client, program)
  }

  start(): void {
    this.#unfollow = this.#o.clusters.onChange(() => this.#news.resolve())
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#unfollow?.()
    this.#end.abort()
    this.#news.resolve()
    await this.#running
    await this.#keeper.stop()
    // Only now: another replica may start them.
    await this.#replicas.leave()
    this.#kubeconfigs.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#end
    const { clock, log, times = REPLICA_TIMES } = this.#o
    while (!signal.aborted) {
      try {
        if (this.#o.clusters.isSynced) await this.#pass(signal)
      } catch (error) {
        if (!signal.aborted)
          log.error('a pass over the Clusters failed: the programs continue', { error: messageOf(error) })
      }
      const pauseMs = this.#o.clusters.isSynced ? times.everyMs : FIRST_PASS_MS
      await Promise.race([this.#news.promise, clock.sleep(pauseMs, signal).catch(() => undefined)])
      this.#news = Promise.withResolvers()
    }
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { clusters, replica: self, perProcess, clock } = this.#o
    const wanted = new Map(
      clusters
        .list()
        .filter(wantsPrograms)
        .map((c) => [namespacedName(c), c]),
    )
    const running = new Set(this.#cells.flatMap((cell) => cell.clusters))
    const replicas = await this.#replicas.pass([...running], signal)
    const mine = planShard({ clusters: [...wanted.keys()].toSorted(), replicas, self, running })
    await this.#provide(wanted, mine, signal)
    signal.throwIfAborted()
    const now = clock.monotonic()
    for (const [id, until] of this.#apartUntil) if (now > until || !wanted.has(id)) this.#apartUntil.delete(id)
    this.#judgeUsage()
    await this.#apply(
      planCells({
        cells: this.#cells,
        clusters: mine.filter((id) => this.#files.has(id)),
        apart: new Set(this.#apartUntil.keys()),
        perProcess,
      }),
    )
  }

  async #provide(wanted: ReadonlyMap<string, Cluster>, mine: readonly string[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#o
    for (const id of this.#files.keys())
      if (!mine.includes(id)) {
        this.#files.delete(id)
        this.#kubeconfigs.forget(id)
      }
    for (const id of this.#refused.keys()) if (!mine.includes(id)) this.#refused.delete(id)
    const due = mine.filter(
      (id) => clock.monotonic() - (this.#files.get(id)?.readAt ?? -READ_AGAIN_MS) >= READ_AGAIN_MS,
    )
    await inParallel(due, READS, async (id) => {
      const cluster = wanted.get(id)
      if (cluster === undefined) return
      const provided = await this.#kubeconfigs.provide(id, cluster, signal)
      if (provided.kind === 'File') {
        this.#files.set(id, { path: provided.path, readAt: clock.monotonic() })
        this.#refused.delete(id)
        return
      }
      this.#files.delete(id)
      if (this.#refused.get(id) !== provided.why)
        log.warn('no kubeconfig for a Cluster', { cluster: id, why: provided.why })
      this.#refused.set(id, provided.why)
    })
  }

  async #apply(cells: readonly Cell[]): Promise<void> {
    const before = new Map(this.#cells.map((cell) => [cell.name, cell]))
    this.#cells = cells
    const names = new Set(cells.map(({ name }) => name))
    // First: a cluster that moves to another process must have left its old one, or its Lease would be waited for.
    for (const cell of cells) {
      const known = before.get(cell.name)
      if (known !== undefined && known.clusters.join() !== cell.clusters.join())
        this.#keeper.send(cell.name, this.#input(cell.name))
    }
    await Promise.all([...before.keys()].filter((name) => !names.has(name)).map((name) => this.#keeper.end(name)))
    for (const { name } of cells)
      if (!before.has(name))
        this.#keeper.start({
          name,
          heapMb: this.#o.heapMb,
          args: ['run', '--follow', '-', '--log-level', this.#o.logLevel],
          input: () => this.#input(name),
        })
  }

  #input(name: string): string {
    const { program, shared } = this.#o
    const clusters = this.#cells.find((cell) => cell.name === name)?.clusters ?? []
    const entries = clusters.flatMap((id) => {
      const file = this.#files.get(id)
      if (file === undefined) return []
      const [namespace = '', member = ''] = id.split('/', 2)
      const cluster = memberName({ metadata: { namespace, name: member } })
      return [entryOf({ program, cluster, kubeconfig: file.path, shared })]
    })
    return `${JSON.stringify(entries)}\n`
  }

  #judgeUsage(): void {
    const { heapMb, log, report } = this.#o
    const usage = [...this.#keeper.pids()].flatMap(([cell, pid]) => {
      const of = usageOf(pid)
      return of === undefined ? [] : [{ cell, ...of }]
    })
    const clusters = this.#cells.reduce((sum, cell) => sum + cell.clusters.length, 0)
    report({ clusters, refused: this.#refused.size, usage })
    for (const { cell, residentBytes } of usage)
      if (residentBytes > (heapMb + OTHER_MB) * MIB) {
        log.error('a process of hosted programs is too large: it is killed', { cell, residentBytes })
        this.#keeper.kill(cell)
      }
  }

  /** Which of its clusters was to blame is not known: each gets a process of its own for a while. */
  #failed(name: string, how: string, againInMs: number): void {
    const { log, clock } = this.#o
    const clusters = this.#cells.find((cell) => cell.name === name)?.clusters ?? []
    log.error('a process of hosted programs ended: it is started again', { cell: name, how, againInMs, clusters })
    for (const id of clusters) this.#apartUntil.set(id, clock.monotonic() + APART_MS)
    this.#news.resolve()
  }
}

/** One whose time is over is stopped, and needs none. A deleted one keeps them until its machines have left and its kubeconfig is deleted. */
const wantsPrograms = (cluster: Cluster): boolean => runsOnHub(cluster) && cluster.status?.phase !== 'Expired'
