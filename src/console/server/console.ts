// The console of one process: a cache per cluster, the topics computed from them, and the server that shows them.
import { randomBytes } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { currentPerson } from '#kube/current-person.ts'
import { topicsOf } from './rights.ts'
import { ClusterCache } from './cluster-cache.ts'
import { Fleet } from './fleet.ts'
import type { FleetRepository } from './fleet-repository.ts'
import type { Page } from './page-files.ts'
import { OwnCounts } from './own-counts.ts'
import { Recorded } from './recorded.ts'
import type { Tls } from './listener.ts'
import { ConsoleServer, type ConsoleServerOptions } from './server.ts'
import { Sessions, type SignedIn } from './sessions.ts'
import { WATCHED_KINDS } from './watched-kinds.ts'

export interface ConsoleOptions {
  /** By cluster name. */
  readonly clients: ReadonlyMap<string, KubeClient>
  readonly page: Page
  readonly version: string
  readonly host: string
  readonly port: number
  readonly names: readonly string[]
  /** How users sign in; a loopback link if left out. */
  readonly signIn?: Omit<ConsoleServerOptions['doors'], 'ownHost' | 'onLinkUsed'> & { readonly tls: Tls }
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly repository?: FleetRepository | undefined
  /** The folder of a recorded history of these clusters. */
  readonly history?: string | undefined
  /** Limit of open streams, if not the default. */
  readonly streams?: ConsoleServerOptions['streams']
  readonly connections?: number
  readonly onLinkUsed?: () => void
  /** True: clusters are read once a user has signed in. */
  readonly readsWhenUsed?: boolean
}

export interface RunningConsole {
  readonly port: number
  /** A link that signs in the kubeconfig's user, once and for a short time. */
  newLink(): string
  /** Reloads its certificate files as soon as they change. */
  reload(): Promise<void>
  /** Shows these clusters from now on: adds new ones and removes missing ones. */
  show(clients: ReadonlyMap<string, KubeClient>): void
  stop(): Promise<void>
}

export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { clock, random, log, signIn, onLinkUsed, readsWhenUsed = false, history, ...serving } = options
  let { clients } = options
  let isReading = !readsWhenUsed
  const kinds = new Set(WATCHED_KINDS)
  const everything = { topics: topicsOf(kinds), kinds, seesTrouble: true }
  const fleet: Fleet = new Fleet({
    clock,
    log,
    start: randomBytes(4).toString('hex'),
    everything: () => new Map([...clients.keys()].map((name) => [name, everything])),
  })
  const stopped: Promise<void>[] = []
  function follow(): void {
    if (!isReading) return
    let isChanged = false
    for (const cache of fleet.clusters)
      if (clients.get(cache.name) !== cache.client) {
        isChanged = true
        fleet.remove(cache.name)
        stopped.push(cache.stop())
      }
    for (const [name, client] of clients) {
      if (fleet.cluster(name) !== undefined) continue
      isChanged = true
      const cache = new ClusterCache({
        name,
        client,
        clock,
        random,
        log,
        onChange: (cluster, topics) => fleet.changed(cluster, topics),
        onMachine: (cluster, machine, isShown) => fleet.machineChanged(cluster, machine, isShown),
      })
      fleet.add(cache)
      cache.start()
    }
    fleet.remember()
    if (isChanged) server.clustersChanged()
  }
  function read(): void {
    if (isReading) return
    isReading = true
    follow()
  }
  const counts = new OwnCounts(clock, () => fleet.clusters)
  const sessions = new Sessions(clock)
  const { tls, ...doors } = signIn ?? { tls: undefined }
  const ownHost = tls === undefined ? newOwnHost() : undefined
  const server = new ConsoleServer({
    ...serving,
    names: [...options.names, ...(ownHost === undefined ? [] : [ownHost])],
    fleet,
    counts,
    sessions,
    clock,
    log,
    tls,
    recorded: history === undefined ? undefined : new Recorded(history),
    doors: {
      ...doors,
      ownHost,
      onLinkUsed: () => {
        read()
        onLinkUsed?.()
      },
    },
  })
  await server.start()
  counts.start()
  follow()
  const who = signIn === undefined ? await ownIdentity(() => clients) : undefined
  return {
    port: server.port,
    newLink: () => {
      if (who === undefined) throw new Error('people sign in here, and there are no links')
      return `http://${ownHost}:${server.port}/link/${sessions.newLink(who)}`
    },
    reload: () => server.reload(),
    show: (next) => {
      clients = next
      follow()
    },
    stop: async () => {
      counts.stop()
      fleet.stop()
      await server.stop()
      await Promise.all([...stopped, ...fleet.clusters.map((c) => c.stop())])
    },
  }
}

/** A name of this machine that browsers resolve by themselves and nothing else here uses: its cookies go to no server on another port. */
const newOwnHost = (): string => `kn-${randomBytes(8).toString('hex')}.localhost`

/** The kubeconfig's user; the name comes from the first cluster that answers. */
async function ownIdentity(clients: () => ReadonlyMap<string, KubeClient>): Promise<SignedIn> {
  const people = await Promise.all([...clients().values()].map((client) => currentPerson(client)))
  const person = people.find((p) => p !== undefined) ?? { name: 'the user of the kubeconfig', groups: [] }
  return { person: { ...person, how: 'Link' }, identity: 'kubeconfig', clientOf: (cluster) => clients().get(cluster) }
}
