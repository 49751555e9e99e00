// Downloads from the origins that the agent is configured to trust, never more bytes than expected. The caller checks the digest.
import { createReadStream } from 'node:fs'
import type http from 'node:http'
import https from 'node:https'
import { fileURLToPath } from 'node:url'
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { UNTRUSTED_CHAIN } from '#lib/untrusted-chain.ts'
import { agentErrors } from '../agent-errors.ts'

export interface Fetcher {
  /**
   * `place` is absolute, or relative to the artifact base. The stream fails when more than `maxBytes` arrive. It starts at byte `from`, even if the server
   * does not support ranges.
   */
  open(place: string, maxBytes: number, signal: AbortSignal, from?: number): AsyncIterable<Buffer>
}

export interface FetcherOptions {
  /** Ends with a slash: `https://…/`, `http://…/`, `file:///…/`. */
  readonly base: string
  /** PEM: the only authorities trusted for the base origin. Default: the system's authorities. */
  readonly ca?: string
  /** Proxy variables, such as HTTPS_PROXY and NO_PROXY. */
  readonly proxy?: Readonly<Record<string, string>>
  /** Additional origins for absolute URLs, such as `https://mirror.example.org`. */
  readonly allowedOrigins?: readonly string[]
  readonly idleMs?: number
  readonly clock?: Pick<Clock, 'monotonic' | 'after'>
}

const MAX_REDIRECTS = 3
/** A source that sends no bytes for this long is treated as dead. */
const IDLE_MS = 30_000
/** A source that stays slower than this for the same time is also treated as dead: most components would take days. */
const LEAST_BYTES_PER_MS = 1

const failed = (place: string, why: string, cause?: unknown) =>
  new KubeNodeError(agentErrors.KN8010({ place, why }), {
    retry: 'later',
    ...defined({ cause }),
  })

const notPinned = (place: string, origin: string, cause: unknown) =>
  new KubeNodeError(agentErrors.KN8010_authority({ place, origin, why: messageOf(cause) }), { retry: 'later', cause })

export function createFetcher(options: FetcherOptions): Fetcher {
  const { base, ca, allowedOrigins = [], idleMs = IDLE_MS, clock = systemClock } = options
  const agents = agentsFor(options.proxy)
  const root = new URL(base.endsWith('/') ? base : `${base}/`)
  const resolve = (place: string): URL => {
    const url = URL.parse(place, root)
    if (url === null) throw failed(place, 'not a URL')
    if (isBelow(url, root) || (url.protocol !== 'file:' && allowedOrigins.includes(url.origin))) return url
    throw new KubeNodeError(agentErrors.KN8011({ place, origin: url.origin }))
  }
  return {
    async *open(place, maxBytes, signal, from = 0) {
      const url = resolve(place)
      let got = from
      let toSkip = 0
      try {
        const body =
          url.protocol === 'file:' ? createReadStream(fileURLToPath(url), { signal, start: from }) : await get(url)
        // Counts only time spent waiting for the network: the local disk may be slow too.
        let [askedAt, waitedMs, came] = [clock.monotonic(), 0, 0]
        for await (const chunk of body as AsyncIterable<Buffer>) {
          waitedMs += clock.monotonic() - askedAt
          came += chunk.length
          if (waitedMs >= idleMs) {
            if (came < waitedMs * LEAST_BYTES_PER_MS)
              throw failed(place, `only ${came} bytes received within ${Math.round(waitedMs)} ms`)
            ;[waitedMs, came] = [0, 0]
          }
          const part = chunk.subarray(toSkip)
          toSkip = Math.max(0, toSkip - chunk.length)
          got += part.length
          if (got > maxBytes) throw failed(place, `received more than ${maxBytes} bytes`)
          if (part.length > 0) yield part
          askedAt = clock.monotonic()
        }
      } catch (e) {
        if (signal.aborted) throw signal.reason
        if (e instanceof KubeNodeError) throw e
        const isPinned = ca !== undefined && url.origin === root.origin
        throw isPinned && UNTRUSTED_CHAIN.has(e instanceof Error && 'code' in e && e.code)
          ? notPinned(place, root.origin, e)
          : failed(place, messageOf(e), e)
      }

      async function get(at: URL): Promise<http.IncomingMessage> {
        let next = at
        let range = from
        for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
          const pinned = ca !== undefined && next.origin === root.origin ? { ca } : {}
          const response = await send(next, { signal, idleMs, clock, from: range, agents, ...pinned })
          const { statusCode = 0, headers } = response
          if (statusCode === 206 && beginsAt(headers['content-range']) === from) return response
          if (statusCode === 200) {
            toSkip = from
            return response
          }
          response.destroy()
          // The server's file is now shorter than the local one: start over and check the digest.
          if (statusCode === 416 && range > 0) {
            range = 0
            continue
          }
          if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined)
            throw failed(place, `the server answered HTTP ${statusCode}`)
          next = resolve(new URL(headers.location, next).href)
        }
        throw failed(place, `more than ${MAX_REDIRECTS} redirects`)
      }
    },
  }
}

const isBelow = (url: URL, root: URL): boolean =>
  url.protocol === root.protocol && url.host === root.host && url.pathname.startsWith(root.pathname)

/** `bytes 100-199/200` begins at 100. */
const beginsAt = (range: string | undefined): number | undefined => {
  const found = /^bytes (\d+)-/.exec(range ?? '')
  return found === null ? undefined : Number(found[1])
}

interface Asked {
  readonly signal: AbortSignal
  readonly from: number
  readonly ca?: string
  readonly agents: Agents | undefined
}

/** One agent for each URL protocol. */
interface Agents {
  readonly 'http:': http.Agent
  readonly 'https:': https.Agent
}

const agentsFor = (proxyEnv: FetcherOptions['proxy']): Agents | undefined =>
  proxyEnv && { 'http:': new nodeHttp.Agent({ proxyEnv }), 'https:': new https.Agent({ proxyEnv }) }

function send(
  url: URL,
  { signal, idleMs, clock, from, ca, agents }: Required<Pick<FetcherOptions, 'idleMs' | 'clock'>> & Asked,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : nodeHttp
    const request = client.get(
      url,
      {
        signal,
        ...defined({ ca }),
        ...(agents !== undefined && { agent: agents[url.protocol === 'https:' ? 'https:' : 'http:'] }),
        headers: { 'accept-encoding': 'identity', ...(from === 0 ? {} : { range: `bytes=${from}-` }) },
      },
      resolve,
    )
    refuseUpgrade(request)
    request.setTimeout(idleMs, () => request.destroy(new Error(`no data within ${idleMs} ms`)))
    // The headers may arrive one byte at a time.
    const head = clock.after(idleMs, () => request.destroy(new Error(`no answer within ${idleMs} ms`)))
    request.on('response', () => head.cancel())
    request.on('close', () => head.cancel())
    request.on('error', reject)
  })
}
