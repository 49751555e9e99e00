// Clusters with a control plane on the hub, from the object to phase Ready and from its deletion until nothing is left: one at a time, and a hundred at once, through
// the role `cluster`, the Defender and the host as processes. Memory is what the host's process grows by, for each control plane. A DefenderPolicy lets all deletions
// through: the built-in one grants thirty a minute, on purpose, so that a hundred take over three minutes whatever the programs do.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { missingPrograms } from '#controlplanes/programs.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { systemClock } from '#lib/system-clock.ts'
import { memoryMb } from './apiserver/servers.ts'
import { type Hub, startHub } from './cluster/hub.ts'
import { type BenchOptions, type BenchResult, type Figures, median, rounded } from './result.ts'

const ROUNDS = 10
/** Each takes seconds. */
const MOST_REAL_ROUNDS = 3
const MANY = 100
const WITHIN_MS = 300_000
/** Between two reads of one Cluster; a share of what is measured. */
const LOOK_MS = 5
const LOOK_AT_ALL_MS = 200
/** What a burst left is collected before memory is read. */
const SETTLE_S = 10
/** A hundred take a while, so print the progress. */
const PROGRESS_MS = 5_000

const secretKind = coreKind('Secret')
/** Lets pass what the built-in policy would spread over minutes. */
const OPEN: DefenderPolicy = {
  apiVersion: API_GROUP_VERSION,
  kind: defenderPolicy.kind,
  metadata: { name: 'open' },
  spec: { budgets: [{ max: '100%', of: 'unavailable' }] },
} as unknown as DefenderPolicy
const keyOf = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

export const smoke: Figures = { rounds: 1, many: 1, settle_s: 0 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const rounds = numbers['rounds'] ?? ROUNDS
  const many = numbers['many'] ?? MANY
  const real = await ofPrograms(rounds, process.env['KUBEBUILDER_ASSETS'])
  const hub = await startHub()
  try {
    await hub.client.create(defenderPolicy, OPEN)
    const one = await oneByOne(hub, rounds)
    const all = await atOnce(hub, many, (numbers['settle_s'] ?? SETTLE_S) * 1_000)
    const leftovers = await left(hub)
    const figures: Figures = { ...one, ...all, ...real, leftovers, rounds, many }
    return { figures, peer: null, ratio: {} }
  } finally {
    await hub.stop()
  }
}

/** Clusters on the programs of Kubernetes, as `kubenode local up --real` has them. */
async function ofPrograms(rounds: number, folder: string | undefined): Promise<Figures> {
  const missing = folder === undefined ? [] : missingPrograms(folder)
  if (folder === undefined || missing.length > 0) {
    const why = folder === undefined ? 'KUBEBUILDER_ASSETS is not set' : `${folder} has no ${missing.join(', ')}`
    console.error(`real_create_ms and real_delete_ms are left out: ${why}`)
    return {}
  }
  const hub = await startHub(folder)
  try {
    const own = await oneByOne(hub, Math.min(rounds, MOST_REAL_ROUNDS))
    return Object.fromEntries(['create_ms', 'delete_ms'].map((name) => [`real_${name}`, own[name] ?? 0]))
  } finally {
    await hub.stop()
  }
}

async function oneByOne(hub: Hub, rounds: number): Promise<Figures> {
  const [created, deleted]: [number[], number[]] = [[], []]
  // The first one also loads and compiles what the others find.
  for (let n = -1; n < rounds; n++) {
    const name = `one-${n + 1}`
    const began = performance.now()
    await declare(hub, name)
    await until(hub, `${name} is Ready`, LOOK_MS, async () => isReady(await hub.client.get(clusterKind, keyOf(name))))
    const ready = performance.now()
    await hub.client.delete(clusterKind, keyOf(name))
    await until(
      hub,
      `${name} is deleted`,
      LOOK_MS,
      async () => (await hub.client.get(clusterKind, keyOf(name))) === undefined,
    )
    if (n < 0) continue
    created.push(ready - began)
    deleted.push(performance.now() - ready)
  }
  return {
    create_ms: Math.round(median(created)),
    delete_ms: Math.round(median(deleted)),
    create_max_ms: Math.round(Math.max(...created)),
    delete_max_ms: Math.round(Math.max(...deleted)),
  }
}

async function atOnce(hub: Hub, many: number, settleMs: number): Promise<Figures> {
  const names = Array.from({ length: many }, (_, n) => `many-${n}`)
  await systemClock.sleep(settleMs)
  const before = memoryMb([hub.hostPid])
  const began = performance.now()
  await Promise.all(names.map((name) => declare(hub, name)))
  const list = async () => (await hub.client.list(clusterKind)).items
  await until(hub, `${many} Clusters are Ready`, LOOK_AT_ALL_MS, async () => {
    const ready = (await list()).filter(isReady).length
    progress(`${ready} of ${many} Clusters are Ready`)
    return ready === many
  })
  const readyS = (performance.now() - began) / 1_000
  await systemClock.sleep(settleMs)
  const grown = memoryMb([hub.hostPid]) - before
  const deleting = performance.now()
  await Promise.all(names.map((name) => hub.client.delete(clusterKind, keyOf(name))))
  await until(hub, `${many} Clusters are deleted`, LOOK_AT_ALL_MS, async () => {
    const left = (await list()).length
    progress(`${many - left} of ${many} Clusters are deleted`)
    return left === 0
  })
  return {
    [`create_${many}_s`]: rounded(readyS),
    rss_mb_each: rounded(grown / many),
    [`delete_${many}_s`]: rounded((performance.now() - deleting) / 1_000),
  }
}

let progressAt = 0

function progress(text: string): void {
  const now = performance.now()
  if (now - progressAt < PROGRESS_MS) return
  progressAt = now
  console.error(text)
}

/** Objects, folders and ports of control planes; final snapshots stay for a week, permits for a day. */
async function left(hub: Hub): Promise<number> {
  const { client } = hub
  const secrets = (await client.list(secretKind, { namespace: CLUSTERS_NAMESPACE })).items
  const clusters = (await client.list(clusterKind)).items
  return secrets.length + clusters.length + hub.folders().length
}

async function declare({ client }: Hub, name: string): Promise<void> {
  await client.create(clusterKind, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Cluster',
    metadata: keyOf(name),
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' },
  })
}

const isReady = (cluster: Cluster | undefined): boolean => cluster?.status?.phase === 'Ready'

async function until(hub: Hub, what: string, everyMs: number, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WITHIN_MS
  while (!(await holds())) {
    if (performance.now() > end) {
      const seen = (await hub.client.list(clusterKind)).items.map(
        (c) => `${c.metadata.name}: ${JSON.stringify(c.status)}`,
      )
      throw new Error(`not within ${WITHIN_MS / 1_000} s: ${what}; ${seen.slice(0, 3).join('; ')}; ${hub.said()}`)
    }
    await systemClock.sleep(everyMs)
  }
}
