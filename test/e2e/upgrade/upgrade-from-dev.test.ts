// From the manifests of 0.1.0-dev to those of this version and back, each time in the middle of a rollout: programs are replaced one role after the other, the
// rollout continues within its limit, and no machine does anything twice.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { programUser } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { definitionType, deploymentType } from '#install/observe.ts'
import { labelled, type Release } from '#install/release.ts'
import { WEBHOOK_SERVICE } from '#install/ready.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { silentLogger } from '#lib/log.ts'
import { VERSION } from '#lib/program-version.ts'
import { systemRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { GOOD, POOL } from '#test/support/fleets/rollout-fleet.ts'
import { releasedObjects } from '#test/support/schema/released.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { inFull } from '#test/support/tools/full.ts'
import { connectionTo, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'
import { definition } from '../../sim/rollout/fleet.ts'
import { until } from '../rollout-replay/cluster.ts'
import { Observer } from '../rollout-replay/observer.ts'

const DEV = '0.1.0-dev'
const MACHINES = inFull(60, 20)
const LIMIT = 3
/** An upgrade begins when so many machines have the new version. */
const SOME = 4
const SET = 'base'
const WITHIN_MS = 150_000
const CHAPTER_MS = 400_000

/** Hollow nodes run no pods, and nothing here provides volumes. */
const IGNORED: ReadonlySet<string> = new Set(['nodes', 'storage'])

const own = { clock: systemClock, random: systemRandom, log: silentLogger }

/** The objects of deploy/install.yaml as it was at a version. The double of the workloads serves no webhook. */
function releaseOf(version: string, all: readonly KubeObject[]): Release {
  const marked = all.map((o) => labelled(o, version))
  const isDefinition = ({ kind }: KubeObject) => kind === 'CustomResourceDefinition'
  const isWebhook = ({ kind, metadata }: KubeObject) => kind === 'Service' && metadata.name === WEBHOOK_SERVICE
  return {
    version,
    definitions: marked.filter(isDefinition),
    objects: marked.filter((o) => !isDefinition(o) && !isWebhook(o)),
  }
}

const install = readFileSync(join(import.meta.dirname, '../../../deploy/install.yaml'), 'utf8')
const ofNow = parseAllDocuments(install).map((d) => d.toJS() as KubeObject)
const releases = {
  dev: releaseOf(DEV, withNeedsOfToday(releasedObjects('0.1.0-dev/install.yaml'))),
  now: releaseOf(VERSION, ofNow),
}

/** The programs here are those of today under either manifests: they wait for kinds, and for rights to read them, that the older version did not have. */
function withNeedsOfToday(dev: readonly KubeObject[]): readonly KubeObject[] {
  const nameOf = ({ kind, metadata }: KubeObject) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`
  const known = new Map(dev.map((o) => [nameOf(o), o]))
  const rulesOf = (o: KubeObject | undefined) => (o?.['rules'] ?? []) as readonly object[]
  return [
    ...dev.map((o) => {
      const today = ofNow.find((one) => nameOf(one) === nameOf(o))
      return o['rules'] === undefined ? o : { ...o, rules: [...rulesOf(o), ...rulesOf(today)] }
    }),
    ...ofNow.filter((o) => o.kind === 'CustomResourceDefinition' && !known.has(nameOf(o))),
  ]
}

/** A program that can be replaced, as its Deployment replaces it. */
class Program {
  readonly #begin: () => Promise<readonly Part[]>
  #parts: readonly Part[] = []
  starts = 0

  constructor(begin: () => Promise<readonly Part[]>) {
    this.#begin = begin
  }

  async start(): Promise<void> {
    this.#parts = await this.#begin()
    this.starts++
  }

  async stop(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop(1_000)
  }
}

describe('from 0.1.0-dev to this version and back', () => {
  chapters()
  const stop = new AbortController()
  const clients: HttpKubeClient[] = []
  const observer = new Observer(LIMIT)
  const provider = new MemoryProvider({ clock: systemClock, name: 'hollow' })
  /** What each machine ran and booted, in order. */
  const stories = new Map<string, string[]>()
  let world: InstallWorld
  let admin: HttpKubeClient
  let replacing: Promise<void>

  const clientAs = (user: string): HttpKubeClient => {
    const client = new HttpKubeClient({ ...connectionTo(world.server), impersonate: { user: programUser(user) } })
    clients.push(client)
    return client
  }
  const started = async (parts: readonly Part[]): Promise<readonly Part[]> => {
    for (const part of parts) await part.start(stop.signal)
    return parts
  }
  const informed = (client: HttpKubeClient) => createInformers({ client, ...own, startSpreadMs: 0 })
  const ending = (informers: ReturnType<typeof informed>): Part => ({
    name: 'caches',
    start: () => undefined,
    stop: () => informers.stop(),
  })

  const programs: Readonly<Record<string, Program>> = {
    controllers: new Program(async () => {
      const client = clientAs('controllers')
      const informers = informed(client)
      const events = { record: () => undefined, flush: () => Promise.resolve() }
      const join = {
        server: world.server.url,
        caData: '',
        artifactBase: '',
        trust: { sequence: 0, threshold: 1, keys: [] },
      }
      const config = { cluster: 'test', providers: { hollow: provider }, join }
      const context = { client, informers, ...own, metrics: createMetrics(), events, config }
      const running = [machineModule, machineSetModule, componentSetModule].map((module) => module.setup(context))
      informers.start()
      await informers.synced()
      return started([ending(informers), ...running.flatMap((r) => [...r.controllers, ...(r.parts ?? [])])])
    }),
    defender: new Program(async () => {
      const client = clientAs('defender')
      const informers = informed(client)
      const metrics = createMetrics()
      const { parts = [] } = await defenderModule({ identity: 'test' }).setup({ client, informers, ...own, metrics })
      informers.start()
      await informers.synced()
      return started([ending(informers), ...parts])
    }),
    approver: new Program(async () => [await startApprover(clientAs('approver'), own)]),
  }

  /** Each time a pod of a role is made again, its program ends and another one begins. */
  async function replacePrograms(): Promise<void> {
    let seen = world.double.changes.length
    while (!stop.signal.aborted) {
      for (; seen < world.double.changes.length; seen++) {
        const program = programs[world.double.changes[seen]?.split(' ')[0] ?? '']
        await program?.stop()
        await program?.start()
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  beforeAll(async () => {
    world = await startInstallWorld()
    admin = new HttpKubeClient(connectionTo(world.server))
    clients.push(admin)
    await world.install(releases.dev, { ignored: IGNORED })
    for (const program of Object.values(programs)) await program.start()
    replacing = replacePrograms()
    for (const version of GOOD) await admin.create(machineComponent, definition(version))
    await admin.create(defenderPolicy, {
      apiVersion: API_GROUP_VERSION,
      kind: 'DefenderPolicy',
      metadata: { name: 'open' },
      spec: {
        budgets: [{ max: LIMIT, of: 'concurrent', per: 'cluster' }],
        rates: [{ window: '1m', max: 1_000, per: 'cluster' }],
        mode: 'Enforce',
      },
    } as never)
    const fleet = new HollowFleet({ client: admin, ...own, version: DEV, leaseMs: 10_000 })
    void provider.events(({ machine, kind }) => {
      if (kind === 'Started') fleet.add(machine, 'boot')
      else if (kind === 'Deleted') void fleet.remove(machine)
    }, stop.signal)
    void fleet.run(stop.signal)
    await admin.create(machineComponentSet, {
      apiVersion: API_GROUP_VERSION,
      kind: 'MachineComponentSet',
      metadata: { name: SET },
      spec: {
        selector: { matchLabels: POOL },
        components: [{ name: 'beacon', version: '1.0.0' }],
        rollout: { steps: [1, 2, 100], maxUnavailable: LIMIT, soak: '0s' },
      },
    } as never)
    const template = { metadata: { labels: POOL }, spec: { provider: { name: 'hollow' }, pool: 'workers' } }
    await admin.create(machineSet, {
      apiVersion: API_GROUP_VERSION,
      kind: 'MachineSet',
      metadata: { name: 'workers' },
      spec: { replicas: MACHINES, selector: { matchLabels: POOL }, template },
    } as never)
    await until('the set to rest', status, (s) => s?.phase === 'Complete' && s.counts?.healthy === MACHINES, WITHIN_MS)
    observer.run(admin, stop.signal).catch(() => undefined)
    follow().catch(() => undefined)
  }, CHAPTER_MS)

  afterAll(async () => {
    stop.abort()
    await replacing
    for (const program of Object.values(programs)) await program.stop()
    for (const client of clients) client.close()
    await world?.stop()
  })

  async function follow(): Promise<void> {
    const hear = ({ metadata, status: now }: Machine) => {
      const story = stories.get(metadata.uid ?? '') ?? []
      stories.set(metadata.uid ?? '', story)
      const running = `${now?.components?.[0]?.version} of ${now?.bootID}`
      if (story.at(-1) !== running) story.push(running)
    }
    const { items, resourceVersion } = await admin.list(machineType)
    items.forEach(hear)
    for await (const event of admin.watch(machineType, { resourceVersion, signal: stop.signal }))
      if (event.type !== 'BOOKMARK') hear(event.object)
  }

  const status = async () => {
    const set = await admin.get(machineComponentSet, { name: SET })
    return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
  }
  const declare = (version: string) => {
    const value = { spec: { components: [{ name: 'beacon', version }] } }
    return admin.patch(machineComponentSet, { name: SET }, { type: 'merge', value })
  }

  /** Changes the version of KubeNode while machines change theirs. Answers with the roles whose pods were made again, in order. */
  async function upgradedDuring(version: string, release: Release): Promise<readonly string[]> {
    const before = world.double.changes.length
    await declare(version)
    await until('the middle of the rollout', status, (s) => (s?.counts?.updated ?? 0) >= SOME, WITHIN_MS)
    expect((await status())?.phase).not.toBe('Complete')
    await world.install(release, { isUpgrade: true, ignored: IGNORED })
    await until(version, status, (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES, WITHIN_MS)
    return world.double.changes.slice(before).map((change) => change.split(' ')[0] ?? '')
  }

  const labelOf = (o: KubeObject | undefined) => o?.metadata.labels?.['app.kubernetes.io/version']
  const versions = async () => [
    labelOf(await admin.get(definitionType, { name: 'machines.kubenode.io' })),
    labelOf(await admin.get(deploymentType, { namespace: 'kubenode-system', name: 'kubenode-defender' })),
  ]
  const twice = (roles: readonly string[]) => roles.flatMap((role) => [role, role])
  const ROLES = twice(['defender', 'controllers', 'approver', 'artifacts', 'sync'])

  test(
    'the upgrade replaces each program once, and the rollout continues',
    async () => {
      expect(await versions()).toEqual([DEV, DEV])
      expect(await upgradedDuring('1.1.0', releases.now)).toEqual(ROLES)
      expect(await versions()).toEqual([VERSION, VERSION])
      expect(observer.violations).toBe(0)
    },
    CHAPTER_MS,
  )

  test(
    'a second upgrade to the same version replaces nothing',
    async () => {
      const before = world.double.changes.length
      await world.install(releases.now, { isUpgrade: true, ignored: IGNORED })
      expect(world.double.changes.slice(before)).toEqual([])
    },
    CHAPTER_MS,
  )

  test(
    'the way back does the same, and keeps the newer definitions',
    async () => {
      expect(await upgradedDuring('1.2.0', releases.dev)).toEqual(ROLES)
      expect(await versions()).toEqual([VERSION, DEV])
      expect(observer.violations).toBe(0)
    },
    CHAPTER_MS,
  )

  test('no machine was made again, booted or switched more often than its set asked for', async () => {
    expect(stories.size).toBe(MACHINES)
    expect([...stories.values()]).toEqual(Array(MACHINES).fill(GOOD.map((version) => `${version} of boot`)))
    const attempts = (await admin.list(machineType)).items.map((m) => m.status?.components?.[0]?.attempt)
    expect(attempts).toEqual(Array(MACHINES).fill(GOOD.length))
    expect(programs['defender']?.starts).toBe(1 + 2 * 2)
  })
})
