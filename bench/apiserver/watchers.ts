// Watches over sockets of their own: how long a change takes to reach each of many watchers, and whether any of them missed one.
import { Agent, request } from 'node:https'
import type { ClientRequest } from 'node:http'
import { agentFor, percentile, send } from './load.ts'
import type { Target } from './load.ts'

export interface FanOut {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly lost: number
}

interface Watcher {
  readonly request: ClientRequest
  readonly seen: Map<string, number>
}

const MARK = /"bench\/mark":"([^"]+)"/g

function open(target: Target, agent: Agent, path: string): Promise<Watcher> {
  return new Promise((resolve, reject) => {
    const seen = new Map<string, number>()
    const r = request({ host: target.host, port: target.port, path, agent }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`a watch was answered ${response.statusCode}`))
      response.setEncoding('latin1')
      // Marks are short and lines arrive whole or nearly so; a mark cut in two is found with the next part.
      let tail = ''
      response.on('data', (part: string) => {
        const now = performance.now()
        for (const [, mark] of (tail + part).matchAll(MARK))
          if (mark !== undefined && !seen.has(mark)) seen.set(mark, now)
        tail = part.slice(-64)
      })
      resolve({ request: r, seen })
    })
    r.on('error', reject)
    r.end()
  })
}

const patch = (mark: string): Buffer =>
  Buffer.from(JSON.stringify({ metadata: { annotations: { 'bench/mark': mark } } }))

async function inBatches<T>(count: number, size: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const out: T[] = []
  for (let at = 0; at < count; at += size)
    out.push(...(await Promise.all(Array.from({ length: Math.min(size, count - at) }, (_, i) => make(at + i)))))
  return out
}

const until = async (isDone: () => boolean, withinMs: number): Promise<void> => {
  const end = performance.now() + withinMs
  while (!isDone() && performance.now() < end) await new Promise((r) => setTimeout(r, 5))
}

const WITHIN_MS = 20_000

/** All watchers watch all nodes; each of `rounds` changes must reach every one of them. */
export async function fanOut(
  target: Target,
  version: string,
  watchers: number,
  rounds: number,
  name: (i: number) => string,
): Promise<FanOut> {
  const agent = agentFor(target, Number.POSITIVE_INFINITY)
  const all = await inBatches(watchers, 50, () =>
    open(target, agent, `/api/v1/nodes?watch=true&resourceVersion=${version}`),
  )
  const writer = agentFor(target, 1)
  // the handshake of the writer is no part of how long a change takes to arrive
  await send(target, writer, { method: 'GET', path: '/readyz' })
  const times: number[] = []
  let lost = 0
  for (let round = 0; round < rounds; round++) {
    const mark = `all-${round}`
    const at = performance.now()
    await send(target, writer, {
      method: 'PATCH',
      path: `/api/v1/nodes/${name(round)}`,
      body: patch(mark),
      contentType: 'application/merge-patch+json',
    })
    await until(() => all.every((w) => w.seen.has(mark)), WITHIN_MS)
    for (const w of all) {
      const seen = w.seen.get(mark)
      if (seen === undefined) lost++
      else times.push(seen - at)
    }
  }
  for (const w of all) w.request.destroy()
  agent.destroy()
  writer.destroy()
  times.sort((a, b) => a - b)
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), lost }
}

/** Each watcher watches one node by name, on a connection of its own; nodes are changed one after the other. */
export async function namedWatches(
  target: Target,
  watchers: number,
  changes: number,
  name: (i: number) => string,
): Promise<FanOut> {
  const { ca, cert, key } = target
  const agents = Array.from({ length: watchers }, () => new Agent({ keepAlive: false, ca, cert, key }))
  const all = await inBatches(watchers, 40, (i) => {
    const agent = agents[i]
    if (agent === undefined) throw new Error('unreachable')
    return open(target, agent, `/api/v1/nodes?watch=true&fieldSelector=metadata.name%3D${name(i)}`)
  })
  const writer = agentFor(target, 1)
  await send(target, writer, { method: 'GET', path: '/readyz' })
  const times: number[] = []
  let lost = 0
  const step = Math.max(1, Math.floor(watchers / changes))
  for (let i = 0; i < watchers && times.length + lost < changes; i += step) {
    const mark = `one-${i}`
    const at = performance.now()
    await send(target, writer, {
      method: 'PATCH',
      path: `/api/v1/nodes/${name(i)}`,
      body: patch(mark),
      contentType: 'application/merge-patch+json',
    })
    await until(() => all[i]?.seen.has(mark) ?? false, WITHIN_MS)
    const seen = all[i]?.seen.get(mark)
    if (seen === undefined) lost++
    else times.push(seen - at)
  }
  for (const w of all) w.request.destroy()
  for (const a of agents) a.destroy()
  writer.destroy()
  times.sort((a, b) => a - b)
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), lost }
}
