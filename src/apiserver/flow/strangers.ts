// Connections of whoever has not said who they are: some of all places, so that nobody in the network keeps those out who have a key.
import type { Socket } from 'node:net'
import { networkOf } from '#lib/connection-bound.ts'

/** Health checks, hosts at the door and handshakes take a moment each; the other places are for those that are known. */
export const strangersWithin = (connections: number): number => Math.ceil(connections / 2)

/** Under TLS a request knows another socket than the connection; both have the same peer. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

export class Strangers {
  readonly #most: number
  /** By network and peer, the oldest first. */
  readonly #held = new Map<string, Map<string, Socket>>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  /** When there are too many, the oldest of the network goes that has most of them. */
  came(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return
    const network = networkOf(remoteAddress)
    const peer = peerOf(socket)
    const ofNetwork = this.#held.get(network) ?? new Map<string, Socket>()
    this.#held.set(network, ofNetwork.set(peer, socket))
    this.#count++
    socket.once('close', () => this.#forget(network, peer, socket))
    if (this.#count > this.#most) this.#dropOne()
  }

  /** It showed a certificate or a token: its place is one of the others now. */
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
