// Programs of Clusters on a hub: how long after a Cluster its programs lead in it, and what one replica of all three uses for each Cluster, as a curve over the
// number of Clusters and over how many share a process. Clusters are embedded and have no machines. The figures, for N Clusters and P of them in a process:
//   lead_ms           from the declaration of one Cluster to ProgramsReady, with the programs running: its first process included.
//   mb_each_N_P       memory of all processes of the three programs, supervisors included, for each Cluster.
//   cpu_ms_each_N_P   processor time of them in a second at rest, for each Cluster.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy, type DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { ANNOTATIONS, HOSTED_PROGRAMS, hostedNamespace, SYSTEM_NAMESPACE } from '#api/names.ts'
import { findCondition } from '#kube/conditions.ts'
import { systemClock } from '#lib/system-clock.ts'
import { leaseType } from '#runtime/lease.ts'
import { memoryMb } from './apiserver/servers.ts'
import { type Hub, startHub } from './cluster/hub.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'
import { cpuSecondsOf } from './rollout/process-use.ts'

const MANY = 12
const PER_PROCESS = 6
const SETTLE_S = 10
const REST_S = 15
const WITHIN_MS = 300_000
const LOOK_MS = 200
const PROGRESS_MS = 5_000

export const smoke: Figures = { many: 1, settle_s: 0, rest_s: 1 }

const OPEN: DefenderPolicy = {
  apiVersion: API_GROUP_VERSION,
  kind: defenderPolicy.kind,
  metadata: { name: 'open' },
  spec: { budgets: [{ max: '100%', of: 'unavailable' }] },
} as unknown as DefenderPolicy

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const many = numbers['many'] ?? MANY
  const perProcess = numbers['per_process'] ?? PER_PROCESS
  const times = { settleMs: (numbers['settle_s'] ?? SETTLE_S) * 1_000, restMs: (numbers['rest_s'] ?? REST_S) * 1_000 }
  const hub = await startHub(undefined, true)
  try {
    await hub.client.create(defenderPolicy, OPEN)
    const curve: Record<string, number> = {}
    let leadMs = 0
    const sizes = [...new Set([1, Math.max(1, Math.floor(many / 4)), many])]
    let made = 0
    for (const size of sizes) {
      for (; made < size; made++) await declare(hub, made)
      for (const each of new Set([1, perProcess])) {
        if (size === 1 && each !== 1) continue
        const measured = await measure(hub, { size, each, isFirst: size === 1, ...times })
        leadMs ||= measured.leadMs
        curve[`mb_each_${size}_${each}`] = rounded(measured.mb / size)
        curve[`cpu_ms_each_${size}_${each}`] = rounded(measured.cpuMs / size)
      }
    }
    return { figures: { lead_ms: leadMs, ...curve }, peer: null, ratio: {} }
  } finally {
    await hub.stop()
  }
}

interface Measure {
  readonly size: number
  readonly each: number
  readonly isFirst: boolean
  readonly settleMs: number
  readonly restMs: number
}

async function measure(hub: Hub, { size, each, isFirst, settleMs, restMs }: Measure) {
  const replicas = await Promise.all(
    HOSTED_PROGRAMS.map((program) => hub.startHosted(program, ['--hosted-per-process', String(each)])),
  )
  try {
    await untilLed(hub, size, `${size} Clusters, ${each} in a process`)
    const processes = (): readonly number[] => withChildren(replicas.map((r) => r.pid ?? 0))
    let leadMs = 0
    if (isFirst) {
      const { length: without } = processes()
      const began = performance.now()
      await declare(hub, EXTRA)
      await untilLed(hub, size + 1, 'one more Cluster')
      leadMs = Math.round(performance.now() - began)
      await hub.client.delete(clusterKind, keyOf(EXTRA))
      await until(hub, 'it is deleted', async () => (await hub.client.get(clusterKind, keyOf(EXTRA))) === undefined)
      await until(hub, 'its processes have ended', () => Promise.resolve(processes().length <= without))
    }
    await systemClock.sleep(settleMs)
    const pids = processes()
    const before = sum(pids)
    await systemClock.sleep(restMs)
    const cpuMs = ((sum(pids) - before) * 1_000) / (restMs / 1_000)
    return { mb: memoryMb(pids), cpuMs, leadMs }
  } finally {
    for (const replica of replicas) replica.kill('SIGTERM')
    await Promise.all(replicas.map(ended))
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

const sum = (pids: readonly number[]): number => pids.reduce((all, pid) => all + (cpuSecondsOf(pid) ?? 0), 0)

/** The processes and all that they started. */
function withChildren(parents: readonly number[]): readonly number[] {
  const children = parents.flatMap(childrenOf)
  return children.length === 0 ? parents : [...parents, ...withChildren(children)]
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    // It ended.
    return []
  }
}

/** After those of the curve. */
const EXTRA = 10_000
const keyOf = (n: number) => ({ namespace: SYSTEM_NAMESPACE, name: `c-${n}` })

async function declare({ client }: Hub, n: number): Promise<void> {
  await client.create(clusterKind, {
    apiVersion: API_GROUP_VERSION,
    kind: clusterKind.kind,
    metadata: keyOf(n),
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' },
  } as unknown as Cluster)
}

async function untilLed(hub: Hub, count: number, what: string): Promise<void> {
  let last = 0
  await until(hub, `${what}: programs lead in all`, async () => {
    const { items } = await hub.client.list(clusterKind)
    const led = items.filter((c) => findCondition(c.status?.conditions, 'ProgramsReady')?.status === 'True').length
    if (performance.now() - last > PROGRESS_MS) {
      last = performance.now()
      console.error(`${what}: programs lead in ${led} of ${count}`)
    }
    // The condition may still be about the replicas before these.
    return led >= count && (await listed(hub)).every((n) => n >= count)
  })
}

/** How many Clusters the replicas of each program say they run it for. */
const listed = (hub: Hub): Promise<readonly number[]> =>
  Promise.all(
    HOSTED_PROGRAMS.map(async (program) => {
      const { items } = await hub.client.list(leaseType, { namespace: hostedNamespace(program) })
      return items.reduce((all, { metadata }) => {
        const hosts: unknown = JSON.parse(metadata.annotations?.[ANNOTATIONS.hosts] ?? '[]')
        return all + (Array.isArray(hosts) ? hosts.length : 0)
      }, 0)
    }),
  )

async function until(hub: Hub, what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WITHIN_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${WITHIN_MS / 1_000} s: ${what}: ${hub.said()}`)
    await systemClock.sleep(LOOK_MS)
  }
}
