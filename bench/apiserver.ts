// The embedded API server under load: 10,000 nodes, 50 clients, durable writes; beside it a real kube-apiserver with etcd, where its binaries are named.
import { compactionStallMs } from './apiserver/compaction.ts'
import { agentFor, drive, send } from './apiserver/load.ts'
import type { Target, Work } from './apiserver/load.ts'
import { memoryMb, startEmbedded, startPeer } from './apiserver/servers.ts'
import type { Started } from './apiserver/servers.ts'
import { fanOut, namedWatches } from './apiserver/watchers.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const CLIENTS = 50
const LIST_RUNS = 5
const SMALL_BYTES = 3_000
const LARGE_BYTES = 15_000

const nameOf = (i: number): string => `node-${String(i).padStart(5, '0')}`

/** A Node as large as a real one: labels, annotations, conditions, and images to fill it up. */
function nodeBody(i: number, bytes: number): Buffer {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nameOf(i),
      labels: {
        'kubernetes.io/hostname': nameOf(i),
        'topology.kubernetes.io/zone': `zone-${i % 3}`,
        'kubenode.io/pool': 'workers',
      },
      annotations: {} as Record<string, string>,
    },
    spec: { podCIDR: '10.0.0.0/24', providerID: `bench://${nameOf(i)}` },
  }
  for (let n = 0; JSON.stringify(node).length < bytes - 100; n++)
    node.metadata.annotations[`bench.example.org/fill-${n}`] = 'x'.repeat(80)
  return Buffer.from(JSON.stringify(node))
}

const statusPatch = (i: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'KubeletReady',
            message: `round ${i}`,
            lastHeartbeatTime: new Date().toISOString(),
          },
        ],
      },
    }),
  )

async function listMs(target: Target): Promise<number> {
  const agent = agentFor(target, 1)
  const times: number[] = []
  for (let i = 0; i < LIST_RUNS; i++) {
    const at = performance.now()
    await send(target, agent, { method: 'GET', path: '/api/v1/nodes' })
    times.push(performance.now() - at)
  }
  agent.destroy()
  return median(times)
}

async function currentVersion({ host, port, ca, cert, key }: Target): Promise<string> {
  const { request } = await import('node:https')
  return new Promise((resolve, reject) => {
    const r = request({ host, port, ca, cert, key, path: '/api/v1/nodes?limit=1' }, (response) => {
      let text = ''
      response.on('data', (d) => (text += d))
      response.on('end', () =>
        resolve((JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion),
      )
    })
    r.on('error', reject)
    r.end()
  })
}

interface Sizes {
  readonly nodes: number
  readonly watchers: number
  readonly namedWatchers: number
}

async function measure({ target, readyMs }: Started, { nodes, watchers, namedWatchers }: Sizes): Promise<Figures> {
  const idle = memoryMb(target.pids)
  const creates: Work[] = Array.from({ length: nodes }, (_, i) => ({
    method: 'POST',
    path: '/api/v1/nodes',
    body: nodeBody(i, SMALL_BYTES),
  }))
  const create = await drive(target, CLIENTS, creates, 201)
  const patches: Work[] = Array.from({ length: nodes }, (_, i) => ({
    method: 'PATCH',
    path: `/api/v1/nodes/${nameOf((i * 7919) % nodes)}/status`,
    body: statusPatch(i),
    contentType: 'application/strategic-merge-patch+json',
  }))
  const patch = await drive(target, CLIENTS, patches, 200)
  const list = await listMs(target)
  const loaded = memoryMb(target.pids)
  const many = await fanOut(target, await currentVersion(target), watchers, 20, nameOf)
  const named = namedWatchers === 0 ? undefined : await namedWatches(target, namedWatchers, 500, nameOf)
  return {
    ready_ms: readyMs,
    idle_rss_mb: idle,
    create_per_s: create.perSecond,
    create_p99_ms: create.p99Ms,
    status_patch_per_s: patch.perSecond,
    status_patch_p99_ms: patch.p99Ms,
    list_10k_ms: list,
    loaded_rss_mb: loaded,
    watch500_p99_ms: many.p99Ms,
    watch_lost: many.lost + (named?.lost ?? 0),
    ...(named === undefined ? {} : { watch10k_p99_ms: named.p99Ms }),
  }
}

async function measureLarge({ target }: Started, nodes: number): Promise<Figures> {
  const creates: Work[] = Array.from({ length: nodes }, (_, i) => ({
    method: 'POST',
    path: '/api/v1/nodes',
    body: nodeBody(i, LARGE_BYTES),
  }))
  const create = await drive(target, CLIENTS, creates, 201)
  return {
    create_15k_per_s: create.perSecond,
    list_10k_15k_ms: await listMs(target),
    loaded_15k_rss_mb: memoryMb(target.pids),
  }
}

async function withServer(
  start: () => Promise<Started | undefined>,
  use: (s: Started) => Promise<Figures>,
): Promise<Figures | undefined> {
  const server = await start()
  if (server === undefined) return undefined
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

/** Figures where more is better; of the others less is. */
const MORE_IS_BETTER = new Set(['create_per_s', 'status_patch_per_s', 'create_15k_per_s'])

/** Nought where all is well: no ratio says anything of them. */
const COUNTS = new Set(['watch_lost'])

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const sizes = {
    nodes: numbers['nodes'] ?? 10_000,
    watchers: numbers['watchers'] ?? 500,
    namedWatchers: numbers['named'] ?? 10_000,
  }
  const both = async (start: () => Promise<Started | undefined>): Promise<Figures | undefined> => {
    const small = await withServer(start, (s) => measure(s, sizes))
    const large = small && (await withServer(start, (s) => measureLarge(s, sizes.nodes)))
    return small && { ...small, ...large }
  }
  const ours: Figures = { ...(await both(startEmbedded)), compaction_stall_ms: await compactionStallMs() }
  const theirs = await both(startPeer)
  const round = (f: Figures): Figures => Object.fromEntries(Object.entries(f).map(([k, v]) => [k, rounded(v)]))
  const ratio = Object.fromEntries(
    Object.entries(theirs ?? {}).flatMap(([k, v]) =>
      ours[k] === undefined || COUNTS.has(k) ? [] : [[k, rounded(MORE_IS_BETTER.has(k) ? ours[k] / v : v / ours[k])]],
    ),
  )
  return {
    figures: round(ours),
    peer: theirs === undefined ? null : { name: 'kube-apiserver+etcd', figures: round(theirs) },
    ratio,
  }
}
