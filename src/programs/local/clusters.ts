// Runs the hub's Clusters on this machine: starts programs and hosts once a control plane runs, and removes everything of a deleted Cluster. Each pass reads
// Clusters from the hub and folders from the disk, so the next pass finishes an interrupted start or removal.
import { existsSync, lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import type { KubeClient } from '#kube/client.ts'
import { createInformer } from '#kube/informer.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { makeFolders } from '#lib/private-folder.ts'
import { systemRandom } from '#lib/random.ts'
import { textIfThere } from '#lib/whole-file.ts'
import type { Driver } from './driver.ts'
import { provideIdentity, signerIn } from './identities.ts'
import { businessFolders, type Layout, planeFolder } from './layout.ts'
import { type Hosted, idOfFolder, planClusters } from './plan-clusters.ts'
import { identitiesIn, writeClusters, writeProviders } from './programs.ts'
import { serverUp, type Connect } from './server-up.ts'
import { stopNodes } from './stop-nodes.ts'

const POLL_MS = 500
/** Retry interval after a failure: a dependency may still be starting. */
const AGAIN_MS = 2_000

export interface ClustersOptions {
  readonly hub: KubeClient
  readonly layout: Layout
  readonly driver: Driver
  readonly connect: Connect
  readonly print: (line: string) => void
  /** A cluster was added or removed. */
  readonly onChange: (clients: ReadonlyMap<string, KubeClient>) => void
  readonly signal: AbortSignal
}

interface Closable {
  close(): void
}

interface Here extends Hosted {
  readonly stop: AbortController
  work: Promise<void>
  client?: KubeClient & Closable
  /** The admin kubeconfig this client was made from. The server replaces it whenever an authority or certificate changes. */
  admin?: string | undefined
  isFollowing?: boolean
}

export class LocalClusters {
  readonly #o: ClustersOptions
  readonly #here = new Map<string, Here>()
  /** Reported once. */
  readonly #refused = new Set<string>()
  #news = Promise.withResolvers<void>()

  constructor(options: ClustersOptions) {
    this.#o = options
    writeClusters(options.layout, [])
  }

  /** Clusters whose programs run here, in the hub's order. */
  get clients(): ReadonlyMap<string, KubeClient> {
    return new Map([...this.#here].flatMap(([name, { client }]) => (client === undefined ? [] : [[name, client]])))
  }

  /** Runs until the signal aborts; never rejects. */
  async run(): Promise<void> {
    const { hub, signal } = this.#o
    const own = { client: hub, clock: systemClock, random: systemRandom, startSpreadMs: 0 }
    const informer = createInformer<Cluster>({ ...own, type: clusterKind })
    informer.addHandler(() => this.#news.resolve())
    const ended = informer.run(signal)
    await informer.synced(signal).catch(() => undefined)
    while (!signal.aborted) {
      await this.#observe(informer.store.list())
      await Promise.race([this.#news.promise, systemClock.sleep(POLL_MS, signal).catch(() => undefined)])
      this.#news = Promise.withResolvers()
    }
    await Promise.all([...this.#here.values()].map((h) => h.work))
    await ended
    for (const { client } of this.#here.values()) client?.close()
  }

  async #observe(clusters: readonly Cluster[]): Promise<void> {
    const { layout, print } = this.#o
    const plan = planClusters(clusters, [...this.#here.values()], businessFolders(layout))
    for (const { name, why } of plan.refused)
      if (!this.#refused.has(name)) {
        this.#refused.add(name)
        print(`cluster ${name} gets no programs on this machine: ${why}`)
      }
    for (const name of plan.ending) await this.#takeOut(name)
    for (const name of plan.removed)
      await this.#remove(name).catch((e: unknown) => print(`${name} stays: ${messageOf(e)}`))
    for (const hosted of plan.starting) this.#start(hosted)
    for (const here of this.#here.values()) this.#follow(here)
  }

  #start(hosted: Hosted): void {
    const stop = new AbortController()
    const here: Here = { ...hosted, stop, work: Promise.resolve() }
    this.#here.set(hosted.name, here)
    const signal = AbortSignal.any([stop.signal, this.#o.signal])
    here.work = this.#bringUp(here, signal).catch(async (e: unknown) => {
      if (signal.aborted) return
      this.#o.print(`${hosted.name} is tried again: ${messageOf(e)}`)
      await systemClock.sleep(AGAIN_MS, signal).catch(() => undefined)
      this.#here.delete(hosted.name)
    })
  }

  async #bringUp(here: Here, signal: AbortSignal): Promise<void> {
    const { layout, driver } = this.#o
    const { name, id } = here
    const cluster = layout.cluster(name)
    makeFolders(cluster.nodes)
    writeProviders(layout, name, driver)
    linkTo(join(planeFolder(layout, id), 'data'), cluster.apiserver)
    await this.#connect(here, signal)
  }

  /** The programs' identities match the server's current authorities and certificate. */
  async #connect(here: Here, signal: AbortSignal): Promise<void> {
    const { name } = here
    const { layout } = this.#o
    const cluster = layout.cluster(name)
    // Read before connecting: if it is replaced meanwhile, the next pass sees the change.
    const admin = textIfThere(cluster.adminKubeconfig)
    const { client, server, ca } = await serverUp(cluster.adminKubeconfig, this.#o.connect, signal)
    try {
      const signer = signerIn(cluster.adminKubeconfig)
      const identities = identitiesIn(layout, name).map((identity) =>
        provideIdentity(client, { name, server, ca, signer }, identity, cluster.kubeconfig(identity), systemClock),
      )
      await Promise.all(identities)
      signal.throwIfAborted()
      here.admin = admin
    } catch (e) {
      client.close()
      throw e
    }
    const before = here.client
    here.client = client
    this.#changed()
    before?.close()
  }

  /** During a rotation the programs follow each step. They are not machines, so the rotation does not wait for them. */
  #follow(here: Here): void {
    if (here.client === undefined || here.isFollowing === true) return
    const { adminKubeconfig } = this.#o.layout.cluster(here.name)
    const admin = textIfThere(adminKubeconfig)
    if (admin === undefined || admin === here.admin) return
    here.isFollowing = true
    const signal = AbortSignal.any([here.stop.signal, this.#o.signal])
    here.work = this.#connect(here, signal)
      .catch(async (e: unknown) => {
        if (signal.aborted) return
        this.#o.print(`${here.name} has new certificates that its programs do not have yet: ${messageOf(e)}`)
        await systemClock.sleep(AGAIN_MS, signal).catch(() => undefined)
      })
      .finally(() => {
        here.isFollowing = false
      })
  }

  /** Stops its programs and its hosts; all its data stays. */
  async #takeOut(name: string): Promise<void> {
    const here = this.#here.get(name)
    here?.stop.abort(new Error(`${name} was taken out`))
    await here?.work
    this.#here.delete(name)
    if (here?.client === undefined) return
    this.#changed()
    here.client.close()
    await stopNodes([this.#o.layout.cluster(name).nodes], this.#o.driver)
  }

  /** The Cluster was deleted. With deletionPolicy Orphan the host keeps the control plane, and its folder stays here too. */
  async #remove(name: string): Promise<void> {
    const { layout, driver, print } = this.#o
    const cluster = layout.cluster(name)
    if (existsSync(planeFolder(layout, idOfFolder(name)))) {
      if (lstatSync(cluster.apiserver, { throwIfNoEntry: false }) === undefined) return
      rmSync(cluster.apiserver)
      print(`${name}: the hub has no Cluster of this name; its control plane and its hosts are kept`)
      return
    }
    await stopNodes([cluster.nodes], driver)
    rmSync(dirname(cluster.nodes), { recursive: true, force: true })
    print(`${name} is gone`)
  }

  #changed(): void {
    const { layout, onChange } = this.#o
    const { clients } = this
    writeClusters(layout, [...clients.keys()])
    onChange(clients)
  }
}

/** Relative, because users may move the data folder. */
function linkTo(target: string, path: string): void {
  const wanted = relative(dirname(path), target)
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() === true && readlinkSync(path) === wanted) return
  rmSync(path, { recursive: true, force: true })
  symlinkSync(wanted, path)
}
