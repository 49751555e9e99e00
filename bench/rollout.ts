// A version bump over ten thousand hollow machines, in 104 batches without soak: the embedded server, the controllers and the Defender as processes of their
// own, and one process for all agents. What a batch takes beyond the time that its machines are watched is ours.
import { readFileSync } from 'node:fs'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { systemClock } from '#lib/clock.ts'
import { ProcessCluster, until } from '#test/e2e/rollout-replay/cluster.ts'
import { COMPONENT, SET, plantFleet } from './rollout/fleet.ts'
import { Observer } from '#test/e2e/rollout-replay/observer.ts'
import { rounded } from './result.ts'
import type { BenchOptions, BenchResult } from './result.ts'

const MACHINES = 10_000
const LIMIT = 100
/** The window in which a new version is watched on its machine. */
const SETTLE_MS = 1_000
/** One, five, ten and fifty machines come before the first full batch. */
const FIRST_STEPS = [1, 5, 10, 50]
const REST_WITHIN_MS = 900_000
/** A batch that takes so long hangs. */
const MOST_PER_BATCH_MS = 30_000
/** Ten thousand machines take a while: whoever waits is told how far they are. */
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

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const machines = numbers['machines'] ?? MACHINES
  const cluster = new ProcessCluster({ lease: '30s' })
  const stop = new AbortController()
  try {
    await cluster.start()
    const began = performance.now()
    // The provider makes its folders; the fleet is planted into them before it looks.
    const { mkdirSync } = await import('node:fs')
    mkdirSync(`${cluster.hollowDir}/hosts`, { recursive: true })
    const { client, hollowDir } = cluster
    await plantFleet({ client, hollowDir, count: machines, settle: `${SETTLE_MS}ms`, maxUnavailable: LIMIT })
    const planted_s = secondsSince(began)
    const pids = { controllers: cluster.run('controllers'), defender: cluster.run('defender') }
    /** Undefined until it speaks of what is declared now. */
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
    watching.catch(() => undefined)
    await restOf(observer)
    const rest_s = secondsSince(rested)
    observer.forgetCounts()
    const cpuBefore = cpuSecondsOf(pids.controllers)
    const start = performance.now()
    await cluster.client.patch(
      machineComponentSet,
      { name: SET },
      { type: 'merge', value: { spec: { components: [{ name: COMPONENT, version: '1.1.0' }] } } },
    )
    const batches = batchesOf(machines)
    const telling = setInterval(() => tell(observer.updated('1.1.0'), machines, start), TELL_EVERY_MS)
    await until(
      'the end of the rollout',
      status,
      (s) => s?.phase === 'Complete' && s.counts?.updated === machines && observer.updated('1.1.0') === machines,
      MOST_PER_BATCH_MS * batches,
    ).finally(() => clearInterval(telling))
    const rollout_s = secondsSince(start)
    const cpu = cpuSecondsOf(pids.controllers) - cpuBefore
    await restOf(observer)
    stop.abort()
    const permits = (await cluster.client.list(operationPermit)).items.length
    const own = observer.specWrites + observer.statusWrites
    const figures = {
      overhead_s_per_batch: rollout_s / batches - SETTLE_MS / 1_000,
      s_per_batch: rollout_s / batches,
      writes_per_machine: own / machines,
      spec_writes_per_machine: observer.specWrites / machines,
      agent_writes_per_machine: observer.agentWrites / machines,
      rss_mb: peakMb(pids.controllers),
      defender_rss_mb: peakMb(pids.defender),
      budget_violations: observer.violations,
      most_at_work: observer.mostBusy,
      controllers_cpu_ms_per_machine: (cpu * 1_000) / machines,
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
    await cluster.stop()
  }
}

const tell = (updated: number, machines: number, start: number): void =>
  console.error(`${updated} of ${machines} machines after ${Math.round(secondsSince(start))} s`)

/** Nobody writes for a moment. */
async function restOf(observer: Observer): Promise<void> {
  const sum = () => observer.specWrites + observer.statusWrites + observer.agentWrites
  for (let before = -1; before !== sum();) {
    before = sum()
    await systemClock.sleep(4_000)
  }
}

const secondsSince = (at: number): number => (performance.now() - at) / 1_000

const peakMb = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1_024

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
