// F50, a day of a region: a commit adds a pool, its hosts are made and join; the first zone runs out of hosts and the next one serves; a spot host is reclaimed. The
// controllers and the provider are killed all the time, and at the moments when a host could be made twice or lost. In the end each Machine has exactly one host, and
// none is left over.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { seededRandom } from '#lib/random.ts'
import { SECRET } from '#test/support/benches/sync-bench.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { until } from '#test/support/tools/processes.ts'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Observer, observe } from '../whole-way/watching.ts'
import { Cloud, ownerOf } from './cloud.ts'
import { Programs } from './programs.ts'

const PATIENCE_MS = 1_800_000
const START_MS = 300_000
/** The provider, which keeps nothing, is killed more often than the controllers, which must lead for a minute to know that an agent is silent. */
const USUAL_FAULTS: Faults = { providerKillsMs: [4_000, 12_000], lostReplies: 0.2 }
const CONTROLLERS_KILLS_MS = [25_000, 50_000] as const
/** Which of the hosts: it is made, and those that asked for it die before its answer reaches them. */
const DIE_BEFORE_ANSWER: ReadonlyMap<number, readonly ('controllers' | 'provider')[]> = new Map([
  [2, ['controllers']],
  [5, ['provider']],
  [8, ['controllers', 'provider']],
])
/** One of so many kills may hit a program that is starting. */
const START_KILLS = 4
const LOOK_MS = 200

interface Faults {
  /** The least and the most time between two kills. */
  readonly providerKillsMs: readonly [number, number]
  /** The share of calls that are done and not answered. */
  readonly lostReplies: number
}

const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

/** What a user writes: one cluster, and from the second commit on a pool of machines. */
const fleet = (cloud: Cloud, replicas: number) => {
  const { vendor } = cloud
  const [first, second] = vendor.zones
  const offerings = [
    { zone: first, type: vendor.type, market: 'Spot' },
    { zone: second, type: vendor.type },
  ]
  const pool = {
    replicas,
    selector: { matchLabels: { pool: 'workers' } },
    template: {
      metadata: { labels: { pool: 'workers' } },
      spec: { pool: 'workers', provider: { name: vendor.name, params: vendor.params, offerings } },
    },
  }
  return {
    'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'own', clusters: { names: ['own'] }, minSuccessTime: '0s', progressDeadline: '1h', offlineDeadline: '1h' }] } })
new Cluster(hub, 'own', { spec: { kubeconfigSecretRef: { name: 'cluster-own', key: 'kubeconfig' }, stage: 'own' } })
const chart = new ClusterChart(app, 'own')
if (${replicas} > 0) new MachineSet(chart, 'workers', { spec: ${JSON.stringify(pool)} })
app.synth()
`,
  }
}

/** `size` machines, a quarter more when the first zone has run out. */
export function aDay(size: number, { providerKillsMs, lostReplies }: Faults = USUAL_FAULTS): void {
  describe(`a day of a region with ${size} machines`, () => {
    const cloud = new Cloud(testSeed, lostReplies)
    const spot = Math.floor(size / 2)
    const more = Math.ceil(size * 1.25)
    const random = seededRandom(testSeed)
    const figures: Record<string, number> = {}
    let programs: Programs
    let observer: Observer
    let agents: { stop(): Promise<void> }
    const timers = new Set<NodeJS.Timeout>()

    /** Some while it starts; most after it began its work, or on a busy machine no program would ever come so far. */
    const killAgainAndAgain = (program: 'controllers' | 'provider', [least, most]: readonly [number, number]) => {
      const after = (ms: number, then: () => void) => {
        const timer = setTimeout(() => {
          timers.delete(timer)
          then()
        }, ms)
        timers.add(timer)
      }
      const mayStart = random.below(START_KILLS) > 0
      const kill = () => {
        programs.kill(program)
        killAgainAndAgain(program, [least, most])
      }
      const begin = (): void =>
        mayStart && !programs.isAtWork(program)
          ? after(LOOK_MS, begin)
          : after(least + random.below(most - least), kill)
      begin()
    }
    const killBoth = () => {
      killAgainAndAgain('provider', providerKillsMs)
      killAgainAndAgain('controllers', CONTROLLERS_KILLS_MS)
    }
    const noMoreKills = () => {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    }

    const isAsked = ({ status }: Machine) =>
      status?.provisioning !== undefined && status.provisioning.answer === undefined
    const isReady = (m: Machine) => m.status?.phase === 'Ready'
    const ready = () => observer.machines().filter(isReady).length
    const uids = () => new Set(observer.machines().map((m) => m.metadata.uid ?? ''))
    const wide = (wanted: number) => async () => {
      const machines = observer.machines()
      const hosts = cloud.region.alive()
      const seen = { machines: machines.length, ready: ready(), hosts: hosts.length }
      return seen.machines === wanted && seen.ready === wanted && seen.hosts === wanted ? true : undefined
    }
    const become = async (what: string, wanted: number) => {
      const begun = performance.now()
      await until(`${wanted} machines are Ready`, wide(wanted), PATIENCE_MS).catch((error: unknown) => {
        const waiting = observer.machines().filter((m) => !isReady(m))
        const why = waiting.slice(0, 3).map((m) => [m.metadata.name, m.status?.phase, m.status?.waitingFor])
        throw new Error(
          `${String(error)}: ${observer.machines().length} machines, ${ready()} Ready, ${cloud.region.alive().length} hosts; ${JSON.stringify(why)}\n${programs.said('controllers').slice(-3_000)}\n${programs.said('provider').slice(-2_000)}\n${programs.saidBySync().slice(-2_000)}`,
        )
      })
      figures[what] = Math.round((performance.now() - begun) / 1_000)
    }

    beforeAll(async () => {
      console.log(`seed ${testSeed}; run again with KUBENODE_TEST_SEED=${testSeed}`)
      await cloud.serve(spot)
      programs = new Programs(cloud)
      await programs.start()
      const { client } = programs
      const kubeconfig = readFileSync(programs.adminKubeconfig, 'utf8')
      const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') }
      const metadata = { name: 'cluster-own', namespace: CLUSTERS_NAMESPACE }
      await client.apply(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data }, by)
      const source = {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'FleetSource',
        metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE },
        spec: {
          url: `file://${programs.repository.dir}`,
          ref: { branch: 'main' },
          interval: '2s',
          verify: { mode: 'Off' },
          tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
          prune: { guard: '100%' },
        },
      }
      await client.apply(fleetSource, source, by)
      programs.repository.commit(fleet(cloud, 0))
      programs.startSync()
      observer = observe(programs.adminKubeconfig)
      agents = cloud.runAgents(client)
    }, PATIENCE_MS)

    afterAll(async () => {
      noMoreKills()
      await agents?.stop()
      await observer?.stop()
      await programs?.close()
      await cloud.close()
    })

    test(
      'a commit adds a pool: its hosts are made and join while controllers and provider are killed',
      { timeout: PATIENCE_MS + START_MS },
      async () => {
        cloud.onHost = (made) => {
          for (const program of DIE_BEFORE_ANSWER.get(made) ?? []) programs.kill(program)
        }
        programs.repository.commit(fleet(cloud, size), 'a pool')
        await until('the first Machine is there', () => observer.machines().length > 0 || undefined, START_MS)
        killBoth()
        await become('pool_ready_s', size)
        expect(cloud.region.alive().filter((i) => i.isSpot).length).toBe(spot)
      },
    )

    test('a zone has no hosts left, and the next offering serves', { timeout: PATIENCE_MS + START_MS }, async () => {
      const before = cloud.region.alive().filter((i) => i.isSpot).length
      // The controllers die after they wrote a token down and before anything was asked with it.
      noMoreKills()
      await until('the provider serves', () => programs.isAtWork('provider') || undefined, START_MS)
      const provider = programs.pause('provider')
      const made = cloud.region.instances.size
      programs.repository.commit(fleet(cloud, more), 'a larger pool')
      await until('a token is written down', () => observer.machines().some(isAsked) || undefined, PATIENCE_MS)
      programs.kill('controllers')
      expect(cloud.region.instances.size).toBe(made)
      provider.resume()
      killBoth()
      await become('larger_pool_ready_s', more)
      const [first, second] = cloud.vendor.zones
      const inZone = (zone: string) => cloud.region.alive().filter((i) => i.zone === zone).length
      expect([inZone(first), inZone(second)]).toEqual([before, more - before])
    })

    test('a spot host that is reclaimed is replaced', { timeout: PATIENCE_MS + START_MS }, async () => {
      // An agent is silent for a minute before its Machine is Lost, and a controller that was killed begins to count again.
      noMoreKills()
      killAgainAndAgain('provider', providerKillsMs)
      const before = uids()
      const lost = cloud.reclaim()
      programs.kill('controllers')
      await until('its Machine is replaced', () => !uids().has(lost) || undefined, PATIENCE_MS)
      await become('reclaimed_replaced_s', more)
      expect([...uids()].filter((u) => !before.has(u)).length).toBe(1)
    })

    test(
      'in the end each Machine has exactly one host, no host is left over, and the limit of the cloud was kept',
      { timeout: PATIENCE_MS },
      async () => {
        noMoreKills()
        cloud.calm()
        await become('settled_s', more)
        const calls = [...cloud.region.calls.values()].reduce((a, b) => a + b, 0)
        console.log(
          JSON.stringify({
            size,
            ...figures,
            kills: programs.kills,
            calls,
            lostReplies: cloud.lostReplies,
            overLimit: cloud.region.overLimit,
            heldBackMs: cloud.heldBackMs,
          }),
        )
        const hosts = cloud.region.alive()
        expect(cloud.violations).toEqual([])
        expect(hosts.map(ownerOf).toSorted()).toEqual([...uids()].toSorted())
        const named = new Map(observer.machines().map((m) => [m.metadata.uid, m.spec.providerID]))
        for (const host of hosts) expect(named.get(ownerOf(host))).toMatch(new RegExp(`/${host.id}$`))
        // Each Machine ever made had one, the one that was reclaimed too.
        expect(cloud.region.instances.size).toBe(more + 1)
        expect([...cloud.deleted].filter((id) => hosts.some((h) => h.id === id))).toEqual([])
        expect(cloud.region.overLimit).toBe(0)
        const { kills } = programs
        expect(Math.min(kills.controllers, kills.provider)).toBeGreaterThanOrEqual(3)
        // The key is in no log and in none but the provider's surroundings.
        for (const program of ['controllers', 'provider', 'approver', 'defender'] as const)
          expect(programs.said(program)).not.toContain('a-secret-that-nobody-may-see')
      },
    )
  })
}
