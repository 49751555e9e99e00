// Watches over sockets of their own, held by several client processes: how long a change takes to reach each of many watchers, and
// whether any of them missed one.
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { agentFor, percentile, send } from './load.ts'
import type { Target } from './load.ts'
import { sharedNow, type Order, type Report } from './watch-client.ts'

export interface FanOut {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly lost: number
}

const WITHIN_MS = 20_000
/** Watches that one client process serves without being the slow part. */
const WATCHES_PER_CLIENT = 2_500
const FEWEST_CLIENTS = 2

class Clients {
  readonly #children: ChildProcess[] = []
  readonly #arrivals = new Map<string, Map<ChildProcess, readonly number[]>>()
  #onReport: () => void = () => undefined

  /** One watch on each path. */
  async open(target: Target, paths: readonly string[]): Promise<void> {
    const count = Math.max(FEWEST_CLIENTS, Math.ceil(paths.length / WATCHES_PER_CLIENT))
    const each = Math.ceil(paths.length / count)
    await Promise.all(
      Array.from({ length: count }, (_, i) => this.#start(target, paths.slice(i * each, (i + 1) * each))),
    )
  }

  #start(target: Target, paths: readonly string[]): Promise<void> {
    const child = fork(join(import.meta.dirname, 'watch-client.ts'))
    this.#children.push(child)
    return new Promise((resolve, reject) => {
      child.on('message', (report: Report) => {
        if ('opened' in report) return resolve()
        if ('failed' in report) return reject(new Error(`a watch was not opened: ${report.failed}`))
        const ofMark = this.#arrivals.get(report.mark) ?? new Map<ChildProcess, readonly number[]>()
        this.#arrivals.set(report.mark, ofMark.set(child, report.at))
        this.#onReport()
      })
      child.once('exit', (code) => reject(new Error(`a client process ended with ${code}`)))
      this.#say(child, { open: { target, paths } })
    })
  }

  #say(child: ChildProcess, order: Order): void {
    child.send(order)
  }

  #seen(mark: string): readonly number[] {
    return [...(this.#arrivals.get(mark)?.values() ?? [])].flat()
  }

  /** When the mark reached each watch, once `count` have it or the time is over. */
  async arrivals(mark: string, count: number): Promise<readonly number[]> {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, WITHIN_MS)
      this.#onReport = () => {
        if (this.#seen(mark).length < count) return
        clearTimeout(late)
        resolve()
      }
      this.#onReport()
    })
    if (this.#seen(mark).length < count) {
      for (const child of this.#children) this.#say(child, { ask: mark })
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    return this.#seen(mark)
  }

  async close(): Promise<void> {
    const ended = this.#children.map((c) => new Promise((resolve) => c.once('exit', resolve)))
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all(ended)
  }
}

interface Round {
  readonly mark: string
  readonly node: string
  readonly watchers: number
}

async function measured(target: Target, paths: readonly string[], rounds: readonly Round[]): Promise<FanOut> {
  const clients = new Clients()
  const writer = agentFor(target, 1)
  const times: number[] = []
  let lost = 0
  try {
    await clients.open(target, paths)
    // the handshake of the writer is no part of how long a change takes to arrive
    await send(target, writer, { method: 'GET', path: '/readyz' })
    for (const { mark, node, watchers } of rounds) {
      const at = sharedNow()
      await send(target, writer, {
        method: 'PATCH',
        path: `/api/v1/nodes/${node}`,
        body: Buffer.from(JSON.stringify({ metadata: { annotations: { 'bench/mark': mark } } })),
        contentType: 'application/merge-patch+json',
      })
      const seen = await clients.arrivals(mark, watchers)
      lost += watchers - seen.length
      times.push(...seen.map((t) => t - at))
    }
  } finally {
    await clients.close()
    writer.destroy()
  }
  times.sort((a, b) => a - b)
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), lost }
}

/** All watchers watch all nodes; each of `rounds` changes must reach every one of them. */
export const fanOut = (
  target: Target,
  version: string,
  watchers: number,
  rounds: number,
  name: (i: number) => string,
): Promise<FanOut> =>
  measured(
    target,
    Array.from({ length: watchers }, () => `/api/v1/nodes?watch=true&resourceVersion=${version}`),
    Array.from({ length: rounds }, (_, i) => ({ mark: `all-${i}`, node: name(i), watchers })),
  )

/** Each watcher watches one node by name, on a connection of its own; nodes are changed one after the other. */
export function namedWatches(
  target: Target,
  watchers: number,
  changes: number,
  name: (i: number) => string,
): Promise<FanOut> {
  const step = Math.max(1, Math.floor(watchers / changes))
  const changed = Array.from({ length: Math.min(changes, watchers) }, (_, i) => i * step)
  return measured(
    target,
    Array.from({ length: watchers }, (_, i) => `/api/v1/nodes?watch=true&fieldSelector=metadata.name%3D${name(i)}`),
    changed.map((i) => ({ mark: `one-${i}`, node: name(i), watchers: 1 })),
  )
}
