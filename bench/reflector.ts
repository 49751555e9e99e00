// 10,000 nodes listed, cached and kept current over TLS while connections are dropped: memory of the process, objects lost, longest blindness.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { ClientReport } from '#test/support/benches/kube-bench-reflector.ts'
import { rounded, type BenchOptions, type BenchResult, type Figures } from './result.ts'

const DEFAULTS = { nodes: 10_000, writes: 3_000, reconnects: 10 } as const
/** As our processes run in production: V8's default lets short-lived garbage alone take some 50 MB. The peer gets the same. */
const NODE_FLAGS = ['--max-semi-space-size=8']
/** A step of the run that takes longer hangs. */
const STEP_MS = 120_000

interface Run {
  readonly client: 'reflector' | 'peer'
  readonly nodes: number
  readonly bytes: number
  readonly writes: number
  readonly reconnects: number
}

interface Outcome {
  /** Over dropped connections that a watch can resume. */
  readonly resumed: ClientReport
  /** Over a server that forgot its history. */
  readonly relisted: ClientReport
  readonly listMs: number
}

export const smoke: Figures = { nodes: 20, writes: 10, reconnects: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { nodes, writes, reconnects } = { ...DEFAULTS, ...numbers }
  const small = await oneRun({ client: 'reflector', nodes, bytes: 3_000, writes, reconnects })
  const peer = await oneRun({ client: 'peer', nodes, bytes: 3_000, writes, reconnects })
  const large = await oneRun({
    client: 'reflector',
    nodes,
    bytes: 15_000,
    writes: Math.floor(writes / 4),
    reconnects: 2,
  })
  return {
    figures: {
      ...figuresOf(small),
      lost: lostBy(small) + lostBy(large),
      peak_rss_15k_mb: rounded(large.relisted.peakRssMb),
      list_15k_ms: rounded(large.listMs),
    },
    peer: { name: 'informer of @kubernetes/client-node', figures: figuresOf(peer) },
    ratio: {
      peak_rss: rounded(peer.relisted.peakRssMb / small.relisted.peakRssMb),
      list: rounded(peer.listMs / small.listMs),
      blind: rounded(peer.resumed.blindMs / Math.max(1, small.resumed.blindMs)),
    },
  }
}

const lostBy = ({ resumed, relisted }: Outcome): number => resumed.lost + relisted.lost

const figuresOf = (o: Outcome): Figures => ({
  peak_rss_mb: rounded(o.relisted.peakRssMb),
  lost: lostBy(o),
  blind_ms: rounded(o.resumed.blindMs),
  relist_blind_ms: rounded(o.relisted.blindMs),
  list_ms: rounded(o.listMs),
  events: o.relisted.events,
})

/** One server process, one client process: a list, writes with dropped connections, and once more with forgotten history. */
async function oneRun({ client, nodes, bytes, writes, reconnects }: Run): Promise<Outcome> {
  const server = start('kube-bench-server.ts', [String(nodes), String(bytes)])
  const reader = start(`kube-bench-${client}.ts`, [])
  try {
    const [{ config }] = await Promise.all([
      answer<{ config: ConnectionConfig }>(server, 'ready'),
      answer(reader, 'ready'),
    ])
    reader.send({ kind: 'start', config })
    const { listMs } = await answer<{ listMs: number }>(reader, 'synced')
    const phase = async (order: { writes: number; reconnects: number; compact: boolean }) => {
      server.send({ kind: 'churn', ...order })
      const { revision, state } = await answer<{ revision: number; state: string[] }>(server, 'churned')
      reader.send({ kind: 'report', revision, state })
      return answer<ClientReport>(reader, 'report')
    }
    const resumed = await phase({ writes, reconnects, compact: false })
    const relisted = await phase({ writes: Math.floor(writes / 5), reconnects: 1, compact: true })
    return { resumed, relisted, listMs }
  } finally {
    server.kill('SIGKILL')
    reader.kill('SIGKILL')
  }
}

function start(file: string, args: readonly string[]): ChildProcess {
  return fork(join(import.meta.dirname, '../test/support/benches', file), [...args], {
    execArgv: NODE_FLAGS,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

async function answer<T>(child: ChildProcess, kind: string): Promise<T> {
  const signal = AbortSignal.timeout(STEP_MS)
  for (;;) {
    const [message] = (await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`a process of the benchmark ended with ${String(code)} before it said ${kind}`)
      }),
    ])) as [{ readonly kind: string }]
    if (message.kind === kind) return message as unknown as T
  }
}
