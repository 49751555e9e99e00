// A hub with its roles and policies in force, a Defender, a host of control planes, and the controller of clusters, which acts as its own user.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { EmbeddedHost, type EmbeddedHostOptions } from '#controlplanes/embedded/embedded-host.ts'
import { embeddedEngine } from '#programs/planes/embedded-engine.ts'
import { embeddedRules } from '#programs/run/embedded-rules.ts'
import { ROLES } from '#programs/all.ts'
import { type Role, runRole } from '#programs/run/role.ts'
import { clusterModule } from '#controllers/cluster/reconcile.ts'
import { type Addons, addonsOf } from '#controllers/cluster/addons/built-in.ts'
import type { ControlPlaneHost } from '#controlplanes/port.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { partsOf, type ModuleContext, type RunningModule } from '#runtime/module.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { installedStorage } from '#test/support/servers/installed.ts'

const STOP_MS = 5_000
const WITHIN_MS = 120_000

interface Running {
  stop(): Promise<void>
}

export interface ClusterWorld {
  readonly hub: RunningServer
  readonly admin: HttpKubeClient
  /** Folder of the host. */
  readonly root: string
  readonly host: EmbeddedHost
  /** The controller is started with the hub; this ends it, as a crash between two actions would. */
  stopController(): Promise<void>
  /** With another host in between, such as one that loses replies, and with a clock that is ahead. */
  startController(host?: ControlPlaneHost, aheadMs?: number): Promise<void>
  restartHost(): Promise<void>
  /** As sync applies it with `fromGit`. */
  declare(name: string, spec?: Partial<Cluster['spec']>, fromGit?: boolean): Promise<void>
  get(name: string): Promise<Cluster | undefined>
  remove(name: string): Promise<void>
  until(what: string, holds: () => Promise<boolean>): Promise<void>
  untilPhase(name: string, phase: string): Promise<Cluster>
  untilGone(name: string): Promise<void>
  close(): Promise<void>
}

interface WorldOptions {
  readonly addons?: () => Promise<Addons>
  /** As a hub that runs programs for its Clusters. */
  readonly hostsPrograms?: boolean
  /** Objects of programs that run in a Cluster. */
  readonly inClusters?: () => Promise<readonly KubeObject[]>
}

/** Most stories are about other things: they get none. */
const NO_ADDONS = addonsOf('none', [], [])

export async function clusterWorld({
  addons = async () => NO_ADDONS,
  hostsPrograms = false,
  inClusters = async () => [],
  ...more
}: Partial<EmbeddedHostOptions> & WorldOptions = {}): Promise<ClusterWorld> {
  const hub = await startEmbedded({ storage: await installedStorage() })
  const connection = {
    server: hub.url,
    ca: { data: hub.ca },
    clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
  }
  const opened: HttpKubeClient[] = []
  const as = (user?: string): HttpKubeClient => {
    const client = new HttpKubeClient({ ...connection, ...(user !== undefined && { impersonate: { user } }) })
    opened.push(client)
    return client
  }
  const admin = as()
  const root = mkdtempSync(join(tmpdir(), 'kubenode-clusters-'))
  const newHost = () =>
    new EmbeddedHost({ root, clock: systemClock, engine: embeddedEngine({ rules: embeddedRules() }), ...more })
  let host = newHost()
  await host.open()

  async function run(
    user: string,
    setup: (context: ModuleContext) => Promise<RunningModule> | RunningModule,
  ): Promise<Running> {
    const client = as(programUser(user))
    const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
    const informers = createInformers({ ...own, startSpreadMs: 0 })
    const running = await setup({ ...own, informers, metrics: createMetrics() })
    informers.start()
    await informers.synced()
    const parts = partsOf(running, { controller: (c) => c })
    for (const part of parts) await part.start(new AbortController().signal)
    return {
      stop: async () => {
        for (const part of parts.toReversed()) await part.stop(STOP_MS)
        await informers.stop()
        client.close()
      },
    }
  }

  /** As `kubenode run --roles cluster`: with its lease, its events, and the rights that it needs to lead. */
  async function leading(of: ControlPlaneHost, aheadMs: number): Promise<Running> {
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
    const stop = new AbortController()
    const client = as(programUser('cluster'))
    const begun = Promise.withResolvers<void>()
    const role: Role = {
      name: 'cluster',
      needs: ROLES.cluster.needs,
      setup: (context) => [
        ...partsOf(
          clusterModule.setup({
            ...context,
            clock,
            events: context.events('cluster'),
            hosts: [of],
            connect,
            addons,
            hostsPrograms,
            inClusters,
          }),
          context.supervision,
        ),
        { name: 'begun', start: () => begun.resolve(), stop: () => undefined },
      ],
    }
    const ended = runRole(role, {
      client,
      leaseClient: client,
      log: silentLogger,
      listeners: () => [],
      signal: stop.signal,
    })
    await Promise.race([begun.promise, ended])
    return {
      stop: async () => {
        stop.abort()
        await ended
      },
    }
  }

  const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)
  const defender = await run('defender', (context) =>
    defenderModule({ identity: 'test', cluster: 'hub', withClusters: true }).setup(context),
  )
  let controller: Running | undefined
  const key = (name: string) => ({ name, namespace: SYSTEM_NAMESPACE })
  const get = (name: string) => admin.get(clusterKind, key(name))

  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + WITHIN_MS
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`not within ${WITHIN_MS / 1_000} s: ${what}`)
      await systemClock.sleep(20)
    }
  }

  const world: ClusterWorld = {
    hub,
    admin,
    root,
    get host() {
      return host
    },
    async startController(other, aheadMs = 0) {
      controller = await leading(other ?? host, aheadMs)
    },
    async stopController() {
      await controller?.stop()
      controller = undefined
    },
    async restartHost() {
      await host.close()
      host = newHost()
      await host.open()
    },
    async declare(name, spec = {}, fromGit = false) {
      const object = {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'Cluster',
        metadata: { ...key(name), ...(fromGit && { annotations: { [ANNOTATIONS.source]: 'kubenode-system/fleet' } }) },
        spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete', ...spec },
      }
      await admin.apply(clusterKind, object, { fieldManager: 'git', force: true })
    },
    get,
    async remove(name) {
      await admin.delete(clusterKind, key(name))
    },
    until,
    async untilPhase(name, phase) {
      let seen: Cluster | undefined
      try {
        await until(`${name} is ${phase}`, async () => (seen = await get(name))?.status?.phase === phase)
      } catch (error) {
        throw new Error(`${String(error)}: ${JSON.stringify(seen?.status ?? null)}`, { cause: error })
      }
      if (seen === undefined) throw new Error('unreachable')
      return seen
    },
    async untilGone(name) {
      let seen: Cluster | undefined
      try {
        await until(`${name} is deleted`, async () => (seen = await get(name)) === undefined)
      } catch (error) {
        const permits = (await admin.list(operationPermit)).items.map((p) => p.status)
        throw new Error(`${String(error)}: ${JSON.stringify([seen?.status, permits])}`, { cause: error })
      }
    },
    async close() {
      await world.stopController()
      await defender.stop()
      await host.close()
      for (const client of opened) client.close()
      await hub.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
  await world.startController()
  return world
}

/** What the host keeps on disk of living control planes. */
export const foldersIn = ({ root }: ClusterWorld): readonly string[] => readdirSync(root).filter((f) => f !== '.kept')
