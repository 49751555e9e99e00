// From a condition on a node to a permitted repair, on a server over HTTP with durable writes, embedded or real: one by one, a thousand at once, under an open and the
// built-in policy, a storm over all nodes, and the writes and waiting times of a whole repair. The figures:
//   job_p50_ms, job_p99_ms  from the server's answer to the write of a condition until a watcher sees its permit Granted; one fault at a time.
//   burst1000_s             from the first of a thousand conditions that is written to the last permit that a watcher sees Granted, the writing included.
//   wrong_nodes             nodes of the burst that are not cordoned in the end, others that are, and jobs beyond one a node.
//   cordons_per_s           while the middle eight hundred of that thousand are cordoned; a repair waits a second whether others fail too, on purpose.
//   builtin_granted         what the built-in policy lets through of a thousand; budget_violations: any moment with more, or fewer in the end.
//   storm_s                 from complete caches to the last verdict on all nodes; storm_jobs are held down to the limits of the rules.
//   calls_per_node          writes of remedy and remedyjob for cordon, drain of an empty node, restart, verify, uncordon; refused ones count too.
//   drain_tail_ms           from the deletion of the last pod to the end of the step.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom, systemRandom } from '#lib/random.ts'
import { type Node, hasTaint, nodeType, podType } from '#nodes/objects.ts'
import { type Informers, type SharedInformer, createInformers } from '#runtime/informers.ts'
import { startControllers } from './heal/controllers.ts'
import {
  type BenchWorld,
  CONDITIONS,
  addMachine,
  conditionOf,
  forEach,
  nodeName,
  ours,
  setCondition,
  startWorld,
  until,
} from './heal/world.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures, ServerKind } from './result.ts'

/** A part of size 0 is left out. */
const DEFAULTS = { nodes: 10_000, samples: 200, repairs: 20, storm: 1 }
/** A thousand of ten thousand: with a third of all nodes nothing is touched, rightly. */
const BURST_SHARE = 0.1
/** What the built-in policy says: thirty grants a minute, fifty at once, ten in a rack, a tenth of the fleet. */
const BUILTIN = { perMinute: 30, atOnce: 50, perRack: 10, unavailable: 0.1 }
/** A loaded machine takes several times as long as an idle one. */
const PATIENCE_MS = 120_000
const LIMITS = { perNodePerDay: 100, perHour: 10_000, perDay: 100_000, maxInFlight: 10_000 }
const STUCK_MS = 20_000
/** Drains that are watched to their end. */
const PODS_GO = 5
/** What was written about the measures before is none of the calls of a repair. */
const CALM_S = 6
const REPAIR = 'WholeRepair'

interface Watched {
  readonly world: BenchWorld
  readonly permits: SharedInformer<OperationPermit>
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly remediers: SharedInformer<NodeRemedier>
}

const isGranted = (p: OperationPermit): boolean => p.status?.phase === 'Granted'
const nodeOfJob = (j: RemedyOperationJob): string => j.spec.node.name

export const servers: readonly ServerKind[] = ['embedded', 'real']

export const smoke: Figures = { nodes: 100, samples: 2, repairs: 1, burst: 4, builtin: 4, pods: 1, calm_s: 1 }

export async function run({ numbers, server }: BenchOptions): Promise<BenchResult> {
  const given = { ...DEFAULTS, ...numbers }
  const burstSize = numbers['burst'] ?? Math.max(1, Math.floor(given.nodes * BURST_SHARE))
  const sizes = {
    ...given,
    burst: burstSize,
    builtin: numbers['builtin'] ?? burstSize,
    pods: numbers['pods'] ?? PODS_GO,
  }
  const world = await startWorld(sizes.nodes, server)
  for (const [i, pid] of world.serverPids.entries()) PIDS[i === 0 ? 'server' : 'etcd'] = pid
  const informers = createInformers({
    client: world.client,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    startSpreadMs: 0,
  })
  let defender: ChildProcess | undefined
  try {
    const watched = await watch(world, informers)
    await addRules(world)
    say(`${sizes.nodes} nodes are there`)
    defender = await startDefender(world)
    PIDS['defender'] = defender.pid ?? 0
    const take = nodesInTurn(sizes.nodes)
    const ofBuiltin = take(sizes.builtin)
    const ofBurst = take(sizes.burst)
    const ofRepair = take(sizes.repairs + sizes.pods)
    const quiet = await startControllers(world.connection)
    REQUESTS.now = quiet.requests
    const builtin = await told('builtin', ofBuiltin.length, () => measureBuiltin(watched, ofBuiltin))
    await world.client.create(
      defenderPolicy,
      ours(defenderPolicy, 'open', { budgets: [{ max: '100%', of: 'unavailable' }] }) as never,
    )
    const one = await told('onebyone', sizes.samples, () => measureOneByOne(watched, take(sizes.samples)))
    const burst = await told('burst', ofBurst.length, () => measureBurst(watched, ofBurst))
    const repair = await told('repair', sizes.repairs, () =>
      measureRepair(watched, ofRepair, {
        writes: quiet.writes,
        pods: sizes.pods,
        calmS: numbers['calm_s'] ?? CALM_S,
      }),
    )
    await quiet.stop()
    // The storm needs no grants: the Defender's process would only take time from the others.
    defender.disconnect()
    defender = undefined
    delete PIDS['defender']
    const storm = await told('storm', sizes.storm, () => measureStorm(watched))
    const figures = { ...one, ...burst, ...builtin, ...storm, ...repair, nodes: sizes.nodes, rules: CONDITIONS + 1 }
    return {
      figures: Object.fromEntries(Object.entries(figures).map(([k, v]) => [k, rounded(v)])),
      peer: null,
      ratio: {},
    }
  } finally {
    await informers.stop()
    defender?.disconnect()
    await world.stop()
  }
}

const say = (text: string): void => console.error(`${(performance.now() / 1_000).toFixed(1)} s: ${text}`)

/** The processes that are measured; this one runs the controllers, the users and the agents. */
const PIDS: Record<string, number> = { controllers: process.pid }

/** Of the controllers. */
const REQUESTS: { now: () => Readonly<Record<string, number>> } = { now: () => ({}) }

const TICKS_A_SECOND = 100

const cpuSeconds = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(PIDS).map(([name, pid]) => {
      const [utime = 0, stime = 0] =
        readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
      return [name, (utime + stime) / TICKS_A_SECOND]
    }),
  )

function cpuTold(before: Record<string, number>): string {
  const spent = Object.entries(cpuSeconds()).map(([name, s]) => `${name} ${(s - (before[name] ?? 0)).toFixed(1)}`)
  return `CPU seconds: ${spent.join(', ')}`
}

/** It takes minutes, so print the progress. */
async function told(what: string, size: number, measure: () => Promise<Figures>): Promise<Figures> {
  if (size === 0) return {}
  const before = cpuSeconds()
  const asked = { ...REQUESTS.now() }
  const figures = await measure()
  const requests = Object.entries(REQUESTS.now()).map(([name, n]) => [name, n - (asked[name] ?? 0)])
  say(`${what}: ${JSON.stringify(figures)}; ${cpuTold(before)}; asked ${JSON.stringify(Object.fromEntries(requests))}`)
  return figures
}

async function watch(world: BenchWorld, informers: Informers): Promise<Watched> {
  const watched = {
    world,
    permits: informers.of(operationPermit),
    jobs: informers.of(remedyOperationJob),
    nodes: informers.of(nodeType),
    machines: informers.of(machine),
    remediers: informers.of(nodeRemedier),
  }
  informers.start()
  await informers.synced()
  return watched
}

function startDefender({ connection }: BenchWorld): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'heal/defender-process.ts'), [JSON.stringify(connection)])
  return new Promise((done, fail) => {
    child.once('message', () => done(child))
    child.once('exit', (code) => fail(new Error(`the Defender ended with ${code}`)))
  })
}

const when = (type: string) => ({
  all: [{ fact: 'conditions', path: `/${type}/status`, operator: 'equal', value: 'True' }],
})

async function addRules({ client }: BenchWorld): Promise<void> {
  const verify = (type: string) => ({ conditionCleared: type, stableFor: '1s' })
  for (let n = 0; n < CONDITIONS; n++) {
    const type = conditionOf(n)
    const ladder = [{ operations: [{ cordon: {} }], timeout: '30m', verify: verify(type) }]
    const spec = { when: when(type), ladder, cooldown: '0s', limits: LIMITS }
    await client.create(nodeRemedier, ours(nodeRemedier, type.toLowerCase(), spec) as never)
  }
  const operations = [{ cordon: {} }, { drain: {} }, { restartComponent: { component: 'beacon' } }]
  const ladder = [{ operations, timeout: '30m', verify: verify(REPAIR) }]
  await client.create(
    nodeRemedier,
    ours(nodeRemedier, 'whole', { when: when(REPAIR), ladder, cooldown: '0s', limits: LIMITS }) as never,
  )
}

/** Every node has one of fifty troubles when the controller begins: 2 % for each rule, which no rule takes for a mass fault. */
async function measureStorm({ world, jobs }: Watched): Promise<Figures> {
  const { client, nodes } = world
  const most = 2
  const before = new Set(jobs.list().map((j) => j.metadata.name))
  const made = () => jobs.list().filter((j) => !before.has(j.metadata.name)).length
  await forEach(CONDITIONS, async (n) => {
    await client.patch(
      nodeRemedier,
      { name: conditionOf(n).toLowerCase() },
      { type: 'merge', value: { spec: { limits: { maxInFlight: most } } } },
    )
  })
  await forEach(nodes, (n) => setCondition(world, n, conditionOf(n), 'True'))
  let lastVerdictAt = 0
  const controllers = await startControllers(world.connection, (seen) => {
    if (lastVerdictAt === 0 && seen.nodes.length === nodes) lastVerdictAt = performance.now()
  })
  await until(() => lastVerdictAt > 0 && made() >= most * CONDITIONS, PATIENCE_MS)
  const stormJobs = made()
  await forEach(nodes, (n) => setCondition(world, n, conditionOf(n), 'False'))
  await until(() => jobs.list().every((j) => j.status?.phase === 'Done'), PATIENCE_MS, 50)
  await controllers.stop()
  await forEach(CONDITIONS, async (n) => {
    await client.patch(
      nodeRemedier,
      { name: conditionOf(n).toLowerCase() },
      { type: 'merge', value: { spec: { limits: { maxInFlight: LIMITS.maxInFlight } } } },
    )
  })
  return { storm_s: (lastVerdictAt - controllers.syncedAt) / 1_000, storm_jobs: stormJobs }
}

/**
 * By chance, so that no rack or zone stands out: the Defender would rightly blame it. No node is taken twice, as long as there are any: what comes back
 * is a relapse, and has to wait.
 */
function nodesInTurn(nodes: number): (count: number) => readonly number[] {
  const random = seededRandom(1)
  const left = Array.from({ length: nodes }, (_, n) => n)
  return (count) =>
    Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.below(left.length), 1)).flat()
}

/** No write of the ledger may ever show more than the budget, whatever the moment. */
async function measureBuiltin(watched: Watched, ofBurst: readonly number[]): Promise<Figures> {
  const { world, permits } = watched
  const most = Math.min(BUILTIN.perMinute, ofBurst.length, Math.floor(world.nodes * BUILTIN.unavailable))
  let violations = 0
  const granted = new Map<string, number>()
  const stop = permits.onChange((_, now) => {
    if (now === undefined || !isGranted(now) || granted.has(now.metadata.uid ?? '')) return
    granted.set(now.metadata.uid ?? '', Date.parse(now.status?.decidedAt ?? ''))
    const times = [...granted.values()]
    const inMinute = times.filter((t) => t > Math.max(...times) - 60_000).length
    const atOnce = permits.list().filter(isGranted).length
    if (inMinute > BUILTIN.perMinute || atOnce > BUILTIN.atOnce) violations++
  })
  await forEach(ofBurst, (n) => setCondition(world, n, conditionOf(n), 'True'))
  await until(() => granted.size >= most && permits.list().length >= ofBurst.length, 30_000, 20)
  await systemClock.sleep(2_000)
  const first = granted.size
  stop()
  await heal(watched, ofBurst)
  return { builtin_granted: first, budget_violations: violations + Math.max(0, most - first) }
}

async function heal({ world, jobs }: Watched, nodes: readonly number[]): Promise<void> {
  await forEach(nodes, (n) => setCondition(world, n, conditionOf(n), 'False'))
  await until(() => jobs.list().every((j) => j.status?.phase === 'Done'), PATIENCE_MS, 50)
}

async function measureOneByOne(watched: Watched, samples: readonly number[]): Promise<Figures> {
  const { world, permits } = watched
  const times: number[] = []
  const waiting = new Map<string, (at: number) => void>()
  const stop = permits.onChange((_, now) => {
    const name = now?.spec.targets[0]?.name ?? ''
    if (now !== undefined && isGranted(now)) waiting.get(name)?.(performance.now())
  })
  for (const n of samples) {
    const granted = new Promise<number>((done) => waiting.set(nodeName(n), done))
    await setCondition(world, n, conditionOf(n), 'True')
    const at = performance.now()
    let grantedAt: number | undefined
    void granted.then((t) => (grantedAt = t))
    if (!(await until(() => grantedAt !== undefined, STUCK_MS, 1))) throw stuck(watched, n)
    times.push(Math.max(0, (grantedAt ?? 0) - at))
    waiting.delete(nodeName(n))
    await setCondition(world, n, conditionOf(n), 'False')
    // One by one: cleaning up after the last repair is no part of the next.
    await until(() => !permits.list().some(isGranted), STUCK_MS)
    await systemClock.sleep(20)
  }
  stop()
  await until(() => watched.jobs.list().every((j) => j.status?.phase === 'Done'), PATIENCE_MS, 50)
  const sorted = times.toSorted((a, b) => a - b)
  return { job_p50_ms: median(times), job_p99_ms: sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN }
}

function stuck(watched: Watched, n: number): Error {
  return new Error(`nothing is permitted for ${nodeName(n)}: ${whyNot(watched, n)}`)
}

/** What the rule, the jobs of the node and their permits say of themselves. */
function whyNot({ jobs, permits, remediers }: Watched, n: number): string {
  const rule = remediers.get(conditionOf(n).toLowerCase())?.status?.matching?.filter((m) => m.node === nodeName(n))
  const ofNode = jobs.list().filter((j) => nodeOfJob(j) === nodeName(n))
  const told = ofNode.map((j) => [j.spec.rung, j.spec.attempt, j.status, permits.get(j.metadata.name ?? '')?.status])
  return JSON.stringify({ rule, jobs: told })
}

async function measureBurst(watched: Watched, ofBurst: readonly number[]): Promise<Figures> {
  const { world, permits, jobs, nodes } = watched
  const count = ofBurst.length
  const wanted = new Set(ofBurst.map(nodeName))
  const before = new Set(jobs.list().map((j) => j.metadata.name))
  /** In the order in which they came. */
  const cordonedAt = new Map<string, number>()
  const stop = nodes.onChange((old, now) => {
    const name = now?.metadata.name ?? ''
    if (old === undefined || hasTaint(old, 'kubenode.io/cordon') || !hasTaint(now, 'kubenode.io/cordon')) return
    if (!cordonedAt.has(name)) cordonedAt.set(name, performance.now())
  })
  const granted = new Set<string>()
  /** The progress of the burst, to show which part is slow. */
  const stages = { made: [] as number[], asked: [] as number[], granted: [] as number[] }
  const stopPermits = permits.onChange((old, now) => {
    const name = now?.spec.targets[0]?.name ?? ''
    if (now === undefined || !wanted.has(name)) return
    if (old === undefined) stages.asked.push(performance.now())
    if (!isGranted(now) || granted.has(name)) return
    granted.add(name)
    stages.granted.push(performance.now())
  })
  const stopJobs = jobs.onChange((old) => void (old === undefined && stages.made.push(performance.now())))
  const cpu = cpuSeconds()
  const at = performance.now()
  await forEach(ofBurst, (n) => setCondition(world, n, conditionOf(n), 'True'))
  const writtenMs = performance.now() - at
  if (!(await until(() => granted.size >= count, PATIENCE_MS))) {
    const left = ofBurst.filter((n) => !granted.has(nodeName(n)))
    throw new Error(`${left.length} of a burst wait still; the first: ${whyNot(watched, left[0] ?? 0)}`)
  }
  const burstMs = performance.now() - at
  say(`burst is granted; ${toldStages(stages, at)}; ${cpuTold(cpu)}`)
  await until(() => [...wanted].every((n) => cordonedAt.has(n)), PATIENCE_MS)
  const made = jobs.list().filter((j) => !before.has(j.metadata.name))
  const names = new Set(made.map(nodeOfJob))
  const touched = new Set([...names, ...cordonedAt.keys()])
  const wrong = [...touched].filter((n) => !wanted.has(n)).length + [...wanted].filter((n) => !cordonedAt.has(n)).length
  stop()
  stopPermits()
  stopJobs()
  say(`burst is cordoned; ${cpuTold(cpu)}`)
  const times = [...cordonedAt.values()]
  const middle = times.slice(Math.floor(0.1 * times.length), Math.ceil(0.9 * times.length))
  const spanMs = (middle.at(-1) ?? Number.NaN) - (middle[0] ?? 0)
  await heal(watched, ofBurst)
  return {
    burst1000_s: burstMs / 1_000,
    burst_written_s: writtenMs / 1_000,
    wrong_nodes: wrong + (made.length - names.size),
    cordons_per_s: (1_000 * (middle.length - 1)) / spanMs,
  }
}

/** When the first, the middle and the last of each stage were there, in seconds. */
function toldStages(stages: Readonly<Record<string, readonly number[]>>, from: number): string {
  const told = Object.entries(stages).map(([name, times]) => {
    const at = [0, Math.floor(times.length / 2), times.length - 1].map((n) => ((times[n] ?? from) - from) / 1_000)
    return `${name} ${at.map((s) => s.toFixed(1)).join(' ')}`
  })
  return told.join(', ')
}

/** Whole repairs: of nodes without pods at the same time for the calls, then one by one of nodes whose pods go, for the wait after the last of them. */
async function measureRepair(
  watched: Watched,
  repaired: readonly number[],
  { writes, pods, calmS }: { readonly writes: () => number; readonly pods: number; readonly calmS: number },
): Promise<Figures> {
  const { world } = watched
  const count = repaired.length - pods
  await forEach(repaired, (n) => addMachine(world, n))
  await systemClock.sleep(calmS * 1_000)
  const before = writes()
  await Promise.all(repaired.slice(0, count).map((n) => wholeRepair(watched, n, false)))
  const calls = (writes() - before) / count
  const tails: number[] = []
  for (const n of repaired.slice(count)) tails.push(await wholeRepair(watched, n, true))
  return { calls_per_node: calls, drain_tail_ms: Math.max(...tails) }
}

/** Returns how long the drain took after the last pod was deleted. */
async function wholeRepair(watched: Watched, n: number, withPods: boolean): Promise<number> {
  const { world, jobs } = watched
  if (withPods) await addPods(world, n)
  await setCondition(world, n, REPAIR, 'True')
  const isOfNode = (j: RemedyOperationJob) => nodeOfJob(j) === nodeName(n) && j.spec.remedierRef.name === 'whole'
  const job = await seen(() => jobs.list().find(isOfNode))
  const tail = withPods ? await endPods(watched, n, job) : 0
  await playAgent(watched, n, job)
  const { status } = await seen(() => jobs.list().find((j) => isOfNode(j) && j.status?.phase === 'Done'))
  if (status?.outcome !== 'Succeeded')
    throw new Error(`the repair of ${nodeName(n)} ended as ${status?.outcome}: ${status?.message}`)
  await seen(() => (hasTaint(watched.nodes.get(nodeName(n)), 'kubenode.io/cordon') ? undefined : true))
  await seen(() => ((watched.machines.get(nodeName(n))?.spec.jobs ?? []).length === 0 ? true : undefined))
  return tail
}

async function seen<T>(look: () => T | undefined): Promise<T> {
  let found: T | undefined
  if (!(await until(() => (found = look()) !== undefined, PATIENCE_MS)) || found === undefined)
    throw new Error('what the benchmark waits for does not come')
  return found
}

const PODS = ['a', 'b'] as const

async function addPods({ client }: BenchWorld, n: number): Promise<void> {
  for (const letter of PODS)
    await client.create(podType, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${nodeName(n)}-${letter}`, namespace: 'default' },
      spec: { nodeName: nodeName(n), terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
    })
}

/** Plays the kubelet for deleted pods; returns how long the drain took after the last one. */
async function endPods({ world, jobs }: Watched, n: number, job: RemedyOperationJob): Promise<number> {
  const drainOf = () => jobs.get(job.metadata.name ?? '')?.status?.steps?.find((s) => s.operation === 'drain')
  await seen(() => (drainOf()?.output?.includes('left') === true ? true : undefined))
  await systemClock.sleep(700)
  for (const letter of PODS)
    await world.client.delete(
      podType,
      { namespace: 'default', name: `${nodeName(n)}-${letter}` },
      { gracePeriodSeconds: 0 },
    )
  const at = performance.now()
  await seen(() => (drainOf()?.outcome === 'Succeeded' ? true : undefined))
  return performance.now() - at
}

async function playAgent({ world, jobs, machines }: Watched, n: number, job: RemedyOperationJob): Promise<void> {
  const { name = '', uid = '' } = job.metadata
  const isTurn = () => jobs.get(name)?.status?.steps?.find((s) => s.operation === 'drain')?.outcome !== undefined
  await seen(() => (isTurn() ? true : undefined))
  await seen(() => (machines.get(nodeName(n))?.spec.jobs?.includes(name) === true ? true : undefined))
  const at = timestamp(systemClock.now())
  const times = { attempts: 1, startedAt: at, finishedAt: at }
  const step = { index: 2, operation: 'restartComponent', executor: 'Agent', outcome: 'Succeeded', ...times }
  await setCondition(world, n, REPAIR, 'False')
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name, uid },
    status: { steps: [step] },
  }
  await world.client.apply(remedyOperationJob, object, {
    fieldManager: 'kubenode-agent',
    force: true,
    subresource: 'status',
  })
}
