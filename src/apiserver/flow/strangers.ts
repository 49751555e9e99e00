// Connections without an identity: limited to a part of all places, so that strangers in the network cannot keep out clients with a key.
import type { Socket } from 'node:net'
import { networkOf } from '#lib/connection-bound.ts'

/** Places that are left for the next connection, of a leader perhaps: a stranger's until its first request. */
const FREE = 1 / 16

/** Health checks, rejoining hosts and handshakes are short; the other places are for identified clients, which have `known` of them. */
export const strangersWithin = (connections: number, known: number): number =>
  Math.max(1, Math.min(Math.ceil(connections / 2), Math.floor(connections * (1 - FREE)) - known))

/** Under TLS a request knows another socket than the connection; both have the same peer. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

export class Strangers {
  readonly #most: () => number
  /** By network and peer, the oldest first. */
  readonly #held = new Map<string, Map<string, Socket>>()
  #count = 0

  constructor(most: () => number) {
    this.#most = most
  }

  /** When there are too many, the oldest connection of the network with the most is closed. */
  came(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return
    const network = networkOf(remoteAddress)
    const peer = peerOf(socket)
    const ofNetwork = this.#held.get(network) ?? new Map<string, Socket>()
    this.#held.set(network, ofNetwork.set(peer, socket))
    this.#count++
    socket.once('close', () => this.#forget(network, peer, socket))
    if (this.#count > this.#most()) this.#dropOne()
  }

  /** It sent a request with a certificate or a token: it counts among the others now. */
  knows(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress !== undefined) this.#forget(networkOf(remoteAddress), peerOf(socket))
  }

  #dropOne(): void {
    let most: readonly [string, ReadonlyMap<string, Socket>] | undefined
    for (const held of this.#held) if (most === undefined || held[1].size > most[1].size) most = held
    const [network, sockets] = most ?? []
    const [oldest] = sockets ?? []
    if (network === undefined || oldest === undefined) return
    const [peer, socket] = oldest
    this.#forget(network, peer)
    socket.destroy()
  }

  /** `only`: another connection may have come from the same peer since. */
  #forget(network: string, peer: string, only?: Socket): void {
    const ofNetwork = this.#held.get(network)
    const socket = ofNetwork?.get(peer)
    if (ofNetwork === undefined || socket === undefined || (only !== undefined && socket !== only)) return
    ofNetwork.delete(peer)
    this.#count--
    if (ofNetwork.size === 0) this.#held.delete(network)
  }
}
