// Limits the open connections of a small server. At the limit an idle connection is dropped instead of the newcomer, so silent clients only hurt each other.
// connectionToDrop makes the decision and is pure.
import type { Server } from 'node:http'
import { type Socket, isIPv6 } from 'node:net'
import type { Clock, Timer } from './clock.ts'
import type { Logger } from './log.ts'

/** From the connection to the end of the first request's headers, including the TLS handshake. */
export const SILENT_MS = 2_000
const LOG_EVERY_MS = 60_000

export interface ConnectionBound {
  readonly most: number
  /** A longer request may lose its place. */
  readonly longestRequestMs: number
  readonly silentMs?: number
  /** If all places serve a request, the peer with the most gives one to a peer with fewer. Without it the newcomer is dropped. */
  readonly shares?: boolean
  readonly clock: Clock
  readonly log: Logger
}

export interface Held {
  /** Peers that share a limit: an IPv4 address, or a /64 of IPv6, which one host may use completely. */
  readonly from: string
  /** It has sent its first request. */
  readonly hasAsked: boolean
  /** Start of the oldest request in progress. */
  readonly busySince?: number
  /** When it was opened, or its last request ended. */
  readonly idleSince: number
}

/**
 * Drops connections without any request first: from the peer with the most of them, the one idle longest. The last of `held` is the newcomer. It is dropped
 * only if all others serve a request, unless they share: then the peer with the most requests gives up its oldest to a peer with at least two fewer.
 */
export function connectionToDrop<T extends Held>(
  held: readonly T[],
  now: number,
  longestRequestMs: number,
  shares = false,
): T | undefined {
  const isAtWork = ({ busySince }: Held) => busySince !== undefined && now - busySince <= longestRequestMs
  const idle = held.slice(0, -1).filter((h) => !isAtWork(h))
  const silent = idle.filter((h) => !h.hasAsked)
  const candidates = silent.length > 0 ? silent : idle
  const counts = new Map<string, number>()
  for (const { from } of candidates) counts.set(from, (counts.get(from) ?? 0) + 1)
  const most = Math.max(0, ...counts.values())
  const ofGreatest = candidates.filter((h) => counts.get(h.from) === most)
  const quietest = ofGreatest.toSorted((a, b) => a.idleSince - b.idleSince)[0]
  return quietest ?? (shares ? ofGreediest(held) : undefined) ?? held.at(-1)
}

/** A peer that reads slowly on every connection must not keep all others out. The oldest request loses its place: a download can continue where it was cut. */
function ofGreediest<T extends Held>(held: readonly T[]): T | undefined {
  const peers = Map.groupBy(held, (h) => h.from)
  const [greediest = []] = [...peers.values()].toSorted((a, b) => b.length - a.length)
  const own = peers.get(held.at(-1)?.from ?? '')?.length ?? 0
  if (greediest.length < own + 2) return undefined
  return greediest.toSorted((a, b) => (a.busySince ?? 0) - (b.busySince ?? 0))[0]
}

export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const parts = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - parts.length - after.length) }, () => '0')
  return `${[...parts, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}

interface Open extends Held {
  readonly peer: string
  readonly socket: Socket
  readonly silence: Timer
  hasAsked: boolean
  busySince?: number
  idleSince: number
  requests: number
}

/** Under TLS, request and connection have different sockets with the same peer. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/** For HTTP and HTTPS servers, before they listen. */
export function boundConnections(server: Pick<Server, 'prependListener'>, bound: ConnectionBound): void {
  const { most, longestRequestMs, silentMs = SILENT_MS, shares = false, clock } = bound
  const open = new Map<string, Open>()
  const dropped = dropLog(bound)

  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    // Already closed.
    if (remoteAddress === undefined) {
      socket.destroy()
      return
    }
    const peer = peerOf(socket)
    const silence = clock.after(silentMs, () => socket.destroy())
    const idleSince = clock.monotonic()
    const opened: Open = {
      peer,
      socket,
      silence,
      from: networkOf(remoteAddress),
      hasAsked: false,
      idleSince,
      requests: 0,
    }
    open.set(peer, opened)
    socket.once('close', () => {
      silence.cancel()
      if (open.get(peer) === opened) open.delete(peer)
    })
    if (open.size <= most) return
    const victim = connectionToDrop([...open.values()], clock.monotonic(), longestRequestMs, shares)
    if (victim === undefined) return
    // Remove it now: its close event comes later, and the place is needed now.
    open.delete(victim.peer)
    victim.socket.destroy()
    dropped(victim.from)
  })

  server.prependListener('request', (request, response) => {
    const asking = open.get(peerOf(request.socket))
    if (asking === undefined) return
    asking.silence.cancel()
    asking.hasAsked = true
    if (asking.requests++ === 0) asking.busySince = clock.monotonic()
    response.once('close', () => {
      asking.idleSince = clock.monotonic()
      if (--asking.requests === 0) delete asking.busySince
    })
  })
}

/** Logs the first drop at once, then a count once a minute. */
function dropLog({ log, clock, most }: ConnectionBound): (from: string) => void {
  let count = 0
  let isWaiting = false
  const report = (from: string): void => {
    log.warn('connections dropped: all places were taken', { dropped: count, most, from })
    count = 0
    isWaiting = true
    clock.after(LOG_EVERY_MS, () => {
      isWaiting = false
      if (count > 0) report(from)
    })
  }
  return (from) => {
    count++
    if (!isWaiting) report(from)
  }
}
