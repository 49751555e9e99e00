// Limits requests in flight per lane: ten thousand queued writes never delay a lease renewal or a status. Lanes share sockets; otherwise a new one would open
// next to an open one every other minute, and its handshake costs six times a heartbeat.
import type http from 'node:http'
import https from 'node:https'
import { createSecureContext } from 'node:tls'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { Semaphore } from '#lib/semaphore.ts'
import type { TlsMaterial } from './credentials.ts'
import { kubeErrors } from '../kube-errors.ts'

export type Lane = 'lease' | 'prompt' | 'bulk' | 'watch'

/** What determines a request's lane. */
export interface Traffic {
  readonly method: string
  readonly group: string
  readonly isCollection: boolean
  readonly isStatus: boolean
  readonly isWatch: boolean
}

export function laneOf(t: Traffic): Lane {
  if (t.isWatch) return 'watch'
  if (t.group === 'coordination.k8s.io') return 'lease'
  if (t.isStatus || (t.method === 'GET' && !t.isCollection)) return 'prompt'
  return 'bulk'
}

/** Requests in flight per lane: enough to use two cores of an API server, few enough not to overload it. Each watch holds a socket. */
const IN_FLIGHT: Readonly<Record<Lane, number>> = { lease: 16, prompt: 16, bulk: 16, watch: Number.POSITIVE_INFINITY }
/** Waiting requests per lane. Beyond it the caller produces faster than any server accepts and must slow down. */
const MAX_WAITING = 50_000
/** Idle sockets to keep after a burst. */
const IDLE_SOCKETS = IN_FLIGHT.lease + IN_FLIGHT.prompt + IN_FLIGHT.bulk
/** Close idle sockets before load balancers drop them silently. */
const IDLE_SOCKET_MS = 30_000
/** TCP keep-alive: lets the kernel find a dead peer on sockets that only receive. */
const TCP_KEEPALIVE_MS = 15_000

export interface LaneOptions {
  readonly isTls: boolean
  readonly tlsServerName: string | undefined
  readonly insecureSkipTlsVerify: boolean
  readonly proxy?: Readonly<Record<string, string>> | undefined
  /** Upper limit of a lane's requests in flight. Watches do not count. */
  readonly atOnce: number
}

export class RequestLanes {
  readonly #options: LaneOptions
  readonly #turns: Readonly<Record<Lane, Semaphore>>
  #material: TlsMaterial | undefined
  #sockets: http.Agent | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    const full = () => new KubeNodeError(kubeErrors.KN1044_requests({ maxWaiting: MAX_WAITING }), { retry: 'later' })
    const turns = (lane: Lane, most = Math.min(IN_FLIGHT[lane], options.atOnce)) =>
      new Semaphore(most, { what: 'requests', mostWaiting: MAX_WAITING, full })
    this.#turns = {
      lease: turns('lease'),
      prompt: turns('prompt'),
      bulk: turns('bulk'),
      watch: turns('watch', IN_FLIGHT.watch),
    }
  }

  /** The sockets for this TLS material. New material gets new ones; requests in flight finish on the old ones. */
  sockets(material: TlsMaterial): http.Agent {
    if (this.#sockets === undefined || this.#material !== material) {
      if (this.#sockets !== undefined) retire(this.#sockets)
      this.#material = material
      this.#sockets = this.#build(material)
    }
    return this.#sockets
  }

  /** Whether a socket for this TLS material is open and idle. */
  isOneFree(material: TlsMaterial): boolean {
    return Object.values(this.sockets(material).freeSockets).some((idle) => (idle?.length ?? 0) > 0)
  }

  /** Waits for a turn in the lane; call the returned function to release it. */
  turn(lane: Lane, signal: AbortSignal | undefined): Promise<() => void> {
    return this.#turns[lane].acquire(signal)
  }

  /** Closes idle sockets except one: each takes a tenth of a megabyte. For a client that is done until its next pass. */
  rest(): void {
    for (const idle of Object.values(this.#sockets?.freeSockets ?? {}))
      for (const socket of (idle ?? []).slice(0, -1)) socket.destroy()
  }

  close(): void {
    this.#sockets?.destroy()
    this.#sockets = undefined
  }

  #build(material: TlsMaterial): http.Agent {
    const sockets = {
      keepAlive: true,
      keepAliveMsecs: TCP_KEEPALIVE_MS,
      maxFreeSockets: IDLE_SOCKETS,
      timeout: IDLE_SOCKET_MS,
      // One socket stays warm; those of a burst become idle and close.
      scheduling: 'lifo' as const,
    }
    if (!this.#options.isTls) return new nodeHttp.Agent(sockets)
    const { tlsServerName, insecureSkipTlsVerify, proxy } = this.#options
    return new https.Agent({
      ...sockets,
      ...contextOf(material),
      ...defined({ servername: tlsServerName, proxyEnv: proxy }),
      rejectUnauthorized: !insecureSkipTlsVerify,
    })
  }
}

/** Parses certificates and keys once, not per connection. Material that does not parse fails its requests, whose errors name it. */
function contextOf({ ca, cert, key }: TlsMaterial): https.AgentOptions {
  const material = defined({ ca, cert, key })
  try {
    return { secureContext: createSecureContext(material) }
  } catch {
    return material
  }
}

/** Closes idle sockets and prevents reuse; requests in flight finish. */
function retire(agent: http.Agent): void {
  agent.on('free', (socket: { destroy(): void }) => socket.destroy())
  for (const idle of Object.values(agent.freeSockets)) for (const socket of idle ?? []) socket.destroy()
}
