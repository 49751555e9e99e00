// The embedded API server under load: 10,000 nodes, 50 clients, durable writes; in turns with a real kube-apiserver and etcd where their binaries are
// configured. Only our server gets the case with 10,000 connections: its limit is a time, and a real server takes minutes for it.
import { compactionStallMs } from './apiserver/compaction.ts'
import { agentFor, drive, send } from './apiserver/load.ts'
import type { Target, Work } from './apiserver/load.ts'
import { inParts, type Part } from './apiserver/parts.ts'
import { memoryMb, startEmbedded, startPeer } from './apiserver/servers.ts'
import type { Started } from './apiserver/servers.ts'
import { fanOut, namedWatches } from './apiserver/watchers.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const CLIENTS = 50
const LIST_RUNS = 5
/** Creates that are only tried, before those that are measured: neither the client nor a server is measured while its code is compiled. */
const WARM_UP = 2_000
/** In turns with the peer: A B A B. */
const ROUNDS = 2
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

const creates = (count: number, bytes: number, query = ''): readonly Work[] =>
  Array.from({ length: count }, (_, i) => ({ method: 'POST', path: `/api/v1/nodes${query}`, body: nodeBody(i, bytes) }))

const patches = (nodes: number): readonly Work[] =>
  Array.from({ length: nodes }, (_, i) => ({
    method: 'PATCH',
    path: `/api/v1/nodes/${nameOf((i * 7919) % nodes)}/status`,
    body: statusPatch(i),
    contentType: 'application/strategic-merge-patch+json',
  }))

const smallParts = ({ target, readyMs }: Started, { nodes, watchers, namedWatchers }: Sizes): readonly Part[] => [
  { what: 'ready', run: async () => ({ ready_ms: readyMs, idle_rss_mb: memoryMb(target.pids) }) },
  {
    what: 'warm-up',
    run: async () => {
      await drive(target, CLIENTS, creates(Math.min(WARM_UP, nodes), SMALL_BYTES, '?dryRun=All'), 201)
      return {}
    },
  },
  {
    what: 'create',
    run: async () => {
      const { perSecond, p99Ms } = await drive(target, CLIENTS, creates(nodes, SMALL_BYTES), 201)
      return { create_per_s: perSecond, create_p99_ms: p99Ms }
    },
  },
  {
    what: 'status patch',
    run: async () => {
      const { perSecond, p99Ms } = await drive(target, CLIENTS, patches(nodes), 200)
      return { status_patch_per_s: perSecond, status_patch_p99_ms: p99Ms }
    },
  },
  {
    what: 'list',
    run: async () => ({ list_10k_ms: await listMs(target), loaded_rss_mb: memoryMb(target.pids) }),
  },
  {
    what: 'watch of all',
    run: async () => {
      const { p99Ms, lost } = await fanOut(target, await currentVersion(target), watchers, 20, nameOf)
      return { watch500_p99_ms: p99Ms, watch_lost: lost }
    },
  },
  ...(namedWatchers === 0 ? [] : [namedPart(target, namedWatchers)]),
]

const namedPart = (target: Target, watchers: number): Part => ({
  what: 'watch of one, each',
  run: async (before) => {
    const { p99Ms, lost } = await namedWatches(target, watchers, 500, nameOf)
    return { watch10k_p99_ms: p99Ms, watch_lost: (before['watch_lost'] ?? 0) + lost }
  },
})

const largeParts = ({ target }: Started, { nodes }: Sizes): readonly Part[] => [
  {
    what: 'create of 15 KB',
    run: async () => ({ create_15k_per_s: (await drive(target, CLIENTS, creates(nodes, LARGE_BYTES), 201)).perSecond }),
  },
  {
    what: 'list of 15 KB',
    run: async () => ({ list_10k_15k_ms: await listMs(target), loaded_15k_rss_mb: memoryMb(target.pids) }),
  },
]

interface Measured {
  readonly figures: Figures
  readonly unfinished: readonly string[]
}

/** Both sizes, each on a server of its own; undefined where there is no such server. */
async function measure(
  name: string,
  start: () => Promise<Started | undefined>,
  sizes: Sizes,
): Promise<Measured | undefined> {
  const all: Measured[] = []
  for (const parts of [smallParts, largeParts]) {
    const server = await start()
    if (server === undefined) return undefined
    try {
      all.push(await inParts(name, parts(server, sizes)))
    } finally {
      await server.stop()
    }
  }
  return {
    figures: Object.assign({}, ...all.map((m) => m.figures)) as Figures,
    unfinished: all.flatMap((m) => m.unfinished),
  }
}

/** Figures where more is better; of the others less is. */
const MORE_IS_BETTER = new Set(['create_per_s', 'status_patch_per_s', 'create_15k_per_s'])

/** Nought where all is well: no ratio says anything of them, and the worst round counts. */
const COUNTS = new Set(['watch_lost'])

const ratioOf = (ours: Figures, theirs: Figures): Figures =>
  Object.fromEntries(
    Object.entries(theirs).flatMap(([k, v]) =>
      ours[k] === undefined || COUNTS.has(k) ? [] : [[k, MORE_IS_BETTER.has(k) ? ours[k] / v : v / ours[k]]],
    ),
  )

function over(rounds: readonly Figures[]): Figures {
  const names = [...new Set(rounds.flatMap((r) => Object.keys(r)))]
  const of = (name: string): number => {
    const values = rounds.flatMap((r) => r[name] ?? [])
    return rounded(COUNTS.has(name) ? Math.max(...values) : median(values))
  }
  return Object.fromEntries(names.map((name) => [name, of(name)]))
}

const PEER = 'kube-apiserver+etcd'

export const smoke: Figures = { nodes: 50, watchers: 5, named: 5, rounds: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const sizes = {
    nodes: numbers['nodes'] ?? 10_000,
    watchers: numbers['watchers'] ?? 500,
    namedWatchers: numbers['named'] ?? 10_000,
  }
  const ours: Figures[] = [{ compaction_stall_ms: await compactionStallMs() }]
  const theirs: Figures[] = []
  const ratios: Figures[] = []
  const unfinished: string[] = []
  for (let round = 0; round < (numbers['rounds'] ?? ROUNDS); round++) {
    const own = await measure('kubenode', startEmbedded, round === 0 ? sizes : { ...sizes, namedWatchers: 0 })
    if (own === undefined) break
    if (own.unfinished.length > 0) throw new Error(`not done: ${own.unfinished.join(', ')}`)
    ours.push(own.figures)
    const peer = await measure(PEER, startPeer, { ...sizes, namedWatchers: 0 })
    // alone, one round says as much
    if (peer === undefined) break
    theirs.push(peer.figures)
    unfinished.push(...peer.unfinished)
    ratios.push(ratioOf(own.figures, peer.figures))
  }
  return {
    figures: over(ours),
    peer: theirs.length === 0 ? null : { name: PEER, figures: over(theirs), unfinished },
    ratio: over(ratios),
  }
}
