// A version bump over ten thousand hollow machines, in 104 batches without soak: the server (embedded or real), the controllers and the Defender as processes of their
// own, and one process for all agents. What a batch takes beyond the time that its machines are watched is ours.
import { mkdirSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type ClusterServer, ProcessCluster, until } from '#test/e2e/rollout-replay/cluster.ts'
import { COMPONENT, SET, plantFleet } from '#test/e2e/rollout-replay/planted-fleet.ts'
import { renewKubeletLeases } from '#test/e2e/rollout-replay/kubelet-leases.ts'
import { Observer } from '#test/e2e/rollout-replay/observer.ts'
import { rounded } from './result.ts'
import { KeptRole } from './rollout/kept-role.ts'
import { cpuSecondsOf, cpuSecondsWith } from './rollout/process-use.ts'
import { startRealCluster } from './rollout/real-server.ts'
import type { BenchOptions, BenchResult, ServerKind, Figures } from './result.ts'
import { apiRefusals } from '#kube/api-refusals.ts'

const MACHINES = 10_000
const LIMIT = 100
/** The window in which a new version is watched on its machine. */
const SETTLE_MS = 1_000
/** One, five, ten and fifty machines come before the first full batch. */
const FIRST_STEPS = [1, 5, 10, 50]
/** A write that was decided on an older copy. */
const CONFLICT = apiRefusals.KN2409.code
/** Of the agents. All that is measured shares two cores with what it is measured by: half of what agents do at rest. */
const LEASE = '20s'
const REST_WITHIN_MS = 900_000
/** A batch that takes so long hangs; `minutes=60` bounds a whole rollout on a machine that is slower. */
const MOST_PER_BATCH_MS = 30_000
/** Everything that will be written is written when nothing was for so long. */
const CALM_S = 4
/** Ten thousand machines take a while, so print the progress. */
const TELL_EVERY_MS = 10_000

function batchesOf(machines: number): number {
  let left = machines
  let batches = 0
  for (const step of FIRST_STEPS) {
    if (left <= 0) return batches
    left -= step
    batches++
  }
  return batches + Math.ceil(Math.max(0, left) / LIMIT)
}

export const servers: readonly ServerKind[] = ['embedded', 'real']

export const smoke: Figures = { machines: 4, calm_s: 1 }

export async function run({ numbers, server }: BenchOptions): Promise<BenchResult> {
  const machines = numbers['machines'] ?? MACHINES
  const calmS = numbers['calm_s'] ?? CALM_S
  let measured: readonly number[] = []
  const startServer = async (): Promise<ClusterServer> => {
    const real = await startRealCluster()
    measured = real.pids
    return real
  }
  const cluster = new ProcessCluster({ lease: LEASE, ...(server === 'real' && { startServer }) })
  const stop = new AbortController()
  const roles: KeptRole[] = []
  try {
    await cluster.start()
    const began = performance.now()
    // The provider creates its folders; the fleet is planted into them before its first check.
    mkdirSync(`${cluster.hollowDir}/hosts`, { recursive: true })
    const { client, hollowDir } = cluster
    await plantFleet({ client, hollowDir, count: machines, settle: `${SETTLE_MS}ms`, maxUnavailable: LIMIT })
    const planted_s = secondsSince(began)
    void renewKubeletLeases(client, machines, stop.signal)
    const controllers = new KeptRole(cluster, 'controllers')
    const defender = new KeptRole(cluster, 'defender')
    roles.push(controllers, defender)
    const cpu = () => ({
      controllers: controllers.cpuSeconds,
      defender: defender.cpuSeconds,
      server:
        server === 'real'
          ? measured.reduce((sum, pid) => sum + (cpuSecondsOf(pid) ?? 0), 0)
          : cpuSecondsWith(`apiserver\0--data\0${cluster.folder}`),
      agents: cpuSecondsWith(`--hosts\0${cluster.hollowDir}`),
    })
    /** Undefined until the status covers the current declaration. */
    const status = async () => {
      const set = await cluster.client.get(machineComponentSet, { name: SET })
      return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
    }
    const rested = performance.now()
    await until('rest', status, (s) => s?.phase === 'Complete' && s.counts?.healthy === machines, REST_WITHIN_MS).catch(
      (e: unknown) => {
        throw new Error(cluster.log('controllers'), { cause: e })
      },
    )
    const observer = new Observer(LIMIT)
    const watching = observer.run(cluster.client, stop.signal)
    let broken: unknown
    watching.catch((e: unknown) => void (broken = e))
    await restOf(observer, calmS)
    const rest_s = secondsSince(rested)
    observer.forgetCounts()
    const cpuBefore = cpu()
    const conflictsBefore = cluster.linesWith('controllers', CONFLICT)
    const start = performance.now()
    await cluster.client.patch(
      machineComponentSet,
      { name: SET },
      { type: 'merge', value: { spec: { components: [{ name: COMPONENT, version: '1.1.0' }] } } },
    )
    const batches = batchesOf(machines)
    let waitsFor = ''
    const seconds = () => Math.round(secondsSince(start))
    const telling = setInterval(() => {
      console.error(`${seconds()} s: ${observer.updated('1.1.0')} of ${machines} machines; ${waitsFor}`)
    }, TELL_EVERY_MS)
    await until(
      'the end of the rollout',
      async () => {
        if (broken !== undefined) throw broken
        const now = await status()
        waitsFor = [now?.waitingFor?.predicate, now?.waitingFor?.seen].join(' ')
        return now
      },
      (s) => s?.phase === 'Complete' && s.counts?.updated === machines && observer.updated('1.1.0') === machines,
      numbers['minutes'] === undefined ? MOST_PER_BATCH_MS * batches : numbers['minutes'] * 60_000,
    ).finally(() => clearInterval(telling))
    const rollout_s = secondsSince(start)
    const cpuAfter = cpu()
    const took = (who: keyof typeof cpuBefore) => ((cpuAfter[who] - cpuBefore[who]) * 1_000) / machines
    await restOf(observer, calmS)
    stop.abort()
    const permits = (await cluster.client.list(operationPermit)).items.length
    const own = observer.specWrites + observer.statusWrites
    const overhead_s = rollout_s / batches - SETTLE_MS / 1_000
    const figures = {
      overhead_s_per_batch: overhead_s,
      // A real server computes for 70 to 170 ms with each machine; with all cores for itself it needs the rest of the overhead.
      overhead_s_beside_server: overhead_s - (took('server') * machines) / 1_000 / batches / availableParallelism(),
      s_per_batch: rollout_s / batches,
      writes_per_machine: own / machines,
      spec_writes_per_machine: observer.specWrites / machines,
      progress_writes_per_machine: observer.progressWrites / machines,
      agent_writes_per_machine: observer.agentWrites / machines,
      rss_mb: controllers.peakMb,
      defender_rss_mb: defender.peakMb,
      restarts: controllers.restarts + defender.restarts,
      budget_violations: observer.violations,
      conflicts_per_write: (cluster.linesWith('controllers', CONFLICT) - conflictsBefore) / own,
      most_at_work: observer.mostBusy,
      controllers_cpu_ms_per_machine: took('controllers'),
      defender_cpu_ms_per_machine: took('defender'),
      server_cpu_ms_per_machine: took('server'),
      agents_cpu_ms_per_machine: took('agents'),
      watches_ended: observer.watches,
      load: loadavg()[0] ?? 0,
      rollout_s,
      planted_s,
      rest_s,
      machines,
      batches,
      permits,
    }
    return {
      figures: Object.fromEntries(Object.entries(figures).map(([k, v]) => [k, rounded(v)])),
      peer: null,
      ratio: {},
    }
  } finally {
    stop.abort()
    for (const role of roles) role.close()
    await cluster.stop()
  }
}

/** No program writes during this time. */
async function restOf(observer: Observer, calmS: number): Promise<void> {
  const sum = () => observer.specWrites + observer.statusWrites + observer.agentWrites
  for (let before = -1; before !== sum();) {
    before = sum()
    await systemClock.sleep(calmS * 1_000)
  }
}

const secondsSince = (at: number): number => (performance.now() - at) / 1_000
