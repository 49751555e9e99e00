// The address of this host from which its API server is reached. On a host with several network cards that is the one that the cluster can use; which one
// it is can change with the routes.
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import type { Clock } from '#lib/clock.ts'

/** A changed route is reported with the next status after this. */
const FRESH_MS = 60_000
const DEFAULT_PORT = 443

export class OwnAddress {
  readonly #read: () => Promise<string | undefined>
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onChange: () => void
  #address: string | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonic'>, read: () => Promise<string | undefined>, onChange: () => void) {
    this.#clock = clock
    this.#read = read
    this.#onChange = onChange
  }

  /** The last one that was found; undefined until then. */
  get value(): string | undefined {
    const now = this.#clock.monotonic()
    if (now - this.#readAt >= FRESH_MS) {
      this.#readAt = now
      void this.#read().then((address) => {
        if (address === undefined || address === this.#address) return
        this.#address = address
        this.#onChange()
      })
    }
    return this.#address
  }
}

/** Asks the kernel for the route; nothing is sent. Undefined without a route or a name; never rejects. */
export async function addressTowards(server: string): Promise<string | undefined> {
  try {
    const { hostname, port } = new URL(server)
    const { address, family } = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'))
    return await localAddress(family === 6 ? 'udp6' : 'udp4', { address, port: Number(port) || DEFAULT_PORT })
  } catch {
    return undefined
  }
}

const localAddress = (type: 'udp4' | 'udp6', to: { readonly address: string; readonly port: number }) =>
  new Promise<string | undefined>((resolve) => {
    const socket = createSocket(type)
    const done = (address: string | undefined) => {
      socket.close()
      resolve(address)
    }
    socket.once('error', () => done(undefined))
    socket.connect(to.port, to.address, () => done(socket.address().address))
  })
