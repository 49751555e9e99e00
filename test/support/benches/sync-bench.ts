// A hub and business clusters on embedded servers, a git repository in a temporary folder, and the sync role over them: real HTTP, real git, real renders.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fleetSource, type FleetSourceInput } from '#api/kinds/fleet-source.ts'
import { release, type Release } from '#api/kinds/release.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { defenderModule } from '#defender/role.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { newsReader } from '#explain/release/news.ts'
import { syncModule, type SyncConfig } from '#sync/role.ts'
import { openRenderer } from '#test/doubles/open-renderer.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/faults/fault-proxy.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { preparedStorage } from '#test/support/servers/prepared.ts'
import { isFull } from '#test/support/tools/full.ts'
import { builtCage } from '#test/support/tools/own-build.ts'

const CRD = coreKind('CustomResourceDefinition')
export const NAMESPACE = coreKind('Namespace')
export const SECRET = coreKind('Secret')
/** Longer than any test waits: what passes did not wait for a render to end by itself. */
const RENDER_MS = 300_000

export const CONFIG_MAP = coreKind('ConfigMap')

const cli = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

export interface BenchCluster {
  readonly server: ApiServer
  readonly client: KubeClient
}

async function startCluster(): Promise<BenchCluster> {
  const server = await createApiServer({ storage: await preparedStorage(installKinds) })
  await server.listen()
  const client = new HttpKubeClient(parseSafeKubeconfig(server.adminKubeconfig(), 'test').config)
  return { server, client }
}

async function installKinds(client: KubeClient): Promise<void> {
  for (const name of [SYSTEM_NAMESPACE, CLUSTERS_NAMESPACE])
    await client.apply(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, cli)
  // One after the other on one connection: dozens of handshakes at once take longer than the writes.
  for (const crd of manifests().kinds) await client.apply(CRD, crd, cli)
}

/** No commit is signed, and none starts a second program that looks for what could be packed. */
const SETTINGS = [
  ['user.name', 't'],
  ['user.email', 't@example.org'],
  ['commit.gpgsign', 'false'],
  ['maintenance.auto', 'false'],
] as const
const SETTINGS_ENV = Object.fromEntries([
  ['GIT_CONFIG_COUNT', String(SETTINGS.length)],
  ...SETTINGS.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ]),
]) as Readonly<Record<string, string>>

export class GitFolder {
  readonly dir: string

  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'kubenode-fleet-'))
    this.git('init', '--quiet', '--initial-branch=main')
  }

  git(...args: readonly string[]): string {
    return this.#run('git', args)
  }

  /** Writes the files, commits them, and returns the commit. */
  commit(files: Readonly<Record<string, string>>, message = 'change'): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.dir, name)), { recursive: true })
      writeFileSync(join(this.dir, name), text)
    }
    // One process of the test for the three: starting one from a large process costs more than git itself.
    const text = 'git add --all && git commit --quiet --allow-empty -m "$1" && git rev-parse HEAD'
    return this.#run('sh', ['-c', text, 'sh', message])
  }

  #run(program: string, args: readonly string[]): string {
    return execFileSync(program, args, {
      cwd: this.dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...SETTINGS_ENV },
    }).trim()
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

export interface SyncBench {
  readonly hub: BenchCluster
  readonly clusters: ReadonlyMap<string, BenchCluster>
  readonly repository: GitFolder
  readonly client: (cluster: string) => KubeClient
  /** Between sync and this cluster, if the bench was made with `withProxies`; the client above goes around it. */
  readonly proxy: (cluster: string) => FaultProxy
  /** Starts the Defender of the hub. The first `start` does so itself unless `isDefended` is false. */
  readonly startDefender: () => Promise<void>
  /** Starts (another) sync process; what it returns ends it, as abruptly as a kill does. */
  readonly start: () => Promise<() => Promise<void>>
  /** How many renders run now: child processes of sync, since git is only called between the steps of a test. */
  readonly rendering: () => Promise<number>
  readonly releases: () => Promise<readonly Release[]>
  /** So much time passes at once for sync: deadlines and soaks end by this, not because a machine is slow. */
  readonly pass: (ms: number) => void
  readonly close: () => Promise<void>
}

type SyncBenchOptions = Pick<SyncConfig, 'checks' | 'outbound'> & {
  readonly isDefended?: boolean
  readonly withProxies?: boolean
  /** Renders in a cage, as a program does: for code that never ends, and what is said of it. */
  readonly isCaged?: boolean
}

export async function syncBench(
  names: readonly string[],
  source: Partial<FleetSourceInput['spec']> = {},
  { isDefended = true, withProxies = false, isCaged = isFull, ...more }: SyncBenchOptions = {},
): Promise<SyncBench> {
  const repository = new GitFolder()
  const [hub, ...business] = await Promise.all([startCluster(), ...names.map(startCluster)])
  const clusters = new Map(names.map((name, i) => [name, business[i] as BenchCluster]))
  const stops: (() => Promise<void>)[] = []
  const clock = shiftedClock()
  const proxies = new Map<string, FaultProxy>()
  for (const [name, { server }] of clusters) {
    const direct = server.adminKubeconfig()
    if (withProxies) proxies.set(name, await startFaultProxy(portIn(direct)))
    const { port } = proxies.get(name) ?? { port: portIn(direct) }
    const kubeconfig = direct.replaceAll(`:${portIn(direct)}`, `:${port}`)
    const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') }
    const metadata = { name: `cluster-${name}`, namespace: CLUSTERS_NAMESPACE }
    await hub.client.apply(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data }, cli)
  }
  const spec = {
    url: `file://${repository.dir}`,
    ref: { branch: 'main' },
    interval: '1s',
    verify: { mode: 'Off' },
    tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
    ...source,
  }
  const declared = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE },
    spec,
  }
  await hub.client.apply(fleetSource, declared, cli)
  let defended: Promise<void> | undefined
  const startDefender = () => (defended ??= runDefender(hub.client, stops))
  const start = async () => {
    if (isDefended) await startDefender()
    const informers = createInformers({
      client: hub.client,
      clock,
      random: systemRandom,
      log: silentLogger,
      startSpreadMs: 0,
    })
    const role = syncModule.setup({
      metrics: createMetrics(),
      client: hub.client,
      informers,
      clock,
      random: systemRandom,
      log: silentLogger,
      events: createEventRecorder({
        client: hub.client,
        clock,
        controller: 'kubenode.io/sync',
        instance: 't',
      }),
      connect: (config) => new HttpKubeClient(config),
      news: newsReader,
      hubAs: (user) =>
        new HttpKubeClient({
          ...parseSafeKubeconfig(hub.server.adminKubeconfig(), 'test').config,
          impersonate: { user },
        }),
      config: {
        cacheDir: join(repository.dir, '.git/kubenode-cache'),
        weakCage: 'allow',
        ...(isCaged ? { caged: builtCage() } : { renderer: openRenderer() }),
        localPollMs: 50,
        localRepositories: [{ folder: tmpdir() }],
        gitReach: { trusted: ['localhost'] },
        gitEnv: { PATH: process.env['PATH'] ?? '' },
        renderLimits: { deadlineMs: RENDER_MS },
        ...more,
      },
    })
    informers.start()
    await informers.synced()
    const abort = new AbortController()
    for (const controller of role.controllers) controller.start()
    for (const part of role.parts ?? []) await part.start(abort.signal)
    const stop = async () => {
      abort.abort()
      for (const part of role.parts ?? []) await part.stop(0)
      await Promise.all(role.controllers.map((c) => c.stop(0)))
      await informers.stop()
    }
    stops.push(stop)
    return stop
  }
  return {
    hub,
    clusters,
    repository,
    client: (cluster) => {
      const found = clusters.get(cluster)
      if (found === undefined) throw new Error(`no cluster ${cluster}`)
      return found.client
    },
    proxy: (cluster) => {
      const found = proxies.get(cluster)
      if (found === undefined) throw new Error(`no proxy of ${cluster}`)
      return found
    },
    startDefender,
    start,
    rendering: async () =>
      readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).length,
    releases: async () => (await hub.client.list(release, { namespace: SYSTEM_NAMESPACE })).items,
    pass: (ms) => clock.shift(ms),
    close: async () => {
      for (const stop of stops) await stop()
      await Promise.all([...proxies.values()].map((proxy) => proxy.close()))
      await Promise.all([hub, ...clusters.values()].map(({ server }) => server.close()))
      repository.remove()
    },
  }
}

const portIn = (kubeconfig: string): number => Number(/server: "?https:\/\/[^:\s]+:(\d+)/.exec(kubeconfig)?.[1])

async function runDefender(client: KubeClient, stops: (() => Promise<void>)[]): Promise<void> {
  const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const role = defenderModule({ identity: 'test', cluster: 'hub', withClusters: true })
  const { parts = [] } = await role.setup({ ...own, informers, metrics: createMetrics() })
  informers.start()
  await informers.synced()
  for (const part of parts) await part.start(new AbortController().signal)
  stops.push(async () => {
    for (const part of parts) await part.stop(0)
    await informers.stop()
  })
}

const EVERY_MS = 25
/** Seconds on an idle machine. Beside many other programs each render alone takes ten. */
const WITHIN_MS = 120_000

/** Waits for what is seen to be as wanted; the last thing seen is in the error. */
export async function eventually<T>(
  look: () => Promise<T>,
  isIt: (seen: T) => boolean,
  withinMs = WITHIN_MS,
): Promise<T> {
  const until = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (isIt(seen)) return seen
    if (performance.now() > until)
      throw new Error(
        `not so within ${withinMs} ms; last seen: ${JSON.stringify(seen ?? 'nothing', null, 1).slice(0, 4_000)}`,
      )
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

/** A request to a cluster that does not answer ends within this; time that passes earlier would cancel the pass that waits for it. */
const STEP_WITHIN_MS = 20_000
const STEPS = 6

/** As `eventually`, while so much time at once passes for sync, again and again. */
export async function whileTimePasses<T>(
  { pass }: Pick<SyncBench, 'pass'>,
  stepMs: number,
  look: () => Promise<T>,
  isIt: (seen: T) => boolean,
): Promise<T> {
  for (let step = 1; step < STEPS; step++) {
    pass(stepMs)
    const seen = await eventually(look, isIt, STEP_WITHIN_MS).catch(() => undefined)
    if (seen !== undefined) return seen
  }
  pass(stepMs)
  return eventually(look, isIt)
}
