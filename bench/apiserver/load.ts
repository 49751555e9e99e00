// A client that only makes load: keep-alive TLS connections, ready-made bodies, one request at a time on each. It measures the server, not itself.
import { Agent, request } from 'node:https'
import type { IncomingMessage } from 'node:http'

export interface Target {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** Processes whose memory counts. */
  readonly pids: readonly number[]
}

export interface Work {
  readonly method: string
  readonly path: string
  readonly body?: Buffer
  readonly contentType?: string
}

export interface Load {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export const percentile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN

export const agentFor = ({ ca, cert, key }: Target, maxSockets: number): Agent =>
  new Agent({ keepAlive: true, maxSockets, ca, cert, key, scheduling: 'lifo' })

export function send(
  target: Target,
  agent: Agent,
  { method, path, body, contentType = 'application/json' }: Work,
): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': contentType, 'content-length': body.length }
    const r = request(
      { host: target.host, port: target.port, method, path, agent, headers },
      (response: IncomingMessage) => {
        let bytes = 0
        response.on('data', (part: Buffer) => (bytes += part.length))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }))
        response.on('error', reject)
      },
    )
    r.on('error', reject)
    r.end(body)
  })
}

/** Handshakes are no part of how long a request takes: with them the slowest hundredth of 10,000 would be little else. */
const openAll = (target: Target, agent: Agent, clients: number): Promise<unknown> =>
  Promise.all(Array.from({ length: clients }, () => send(target, agent, { method: 'GET', path: '/readyz' })))

/** All the work, `clients` at a time. Any answer but `expected` is a failure of the bench, not a figure. */
export async function drive(target: Target, clients: number, works: readonly Work[], expected: number): Promise<Load> {
  const agent = agentFor(target, clients)
  await openAll(target, agent, clients)
  const times: number[] = []
  let next = 0
  const began = performance.now()
  const client = async () => {
    for (let i = next++; i < works.length; i = next++) {
      const work = works[i]
      if (work === undefined) return
      const at = performance.now()
      const { status } = await send(target, agent, work)
      if (status !== expected) throw new Error(`${work.method} ${work.path} answered ${status}, wanted ${expected}`)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - began) / 1_000
  agent.destroy()
  times.sort((a, b) => a - b)
  return { perSecond: works.length / seconds, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}
