// The host's address towards its API server. On a host with several network cards, that is the one the cluster can use; it can change with the routes.
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import type { Clock } from '#lib/clock.ts'
import { KeptReading } from '../kept-reading.ts'

const DEFAULT_PORT = 443

/** Keeps the last known address while none is found. */
export const ownAddress = (
  clock: Pick<Clock, 'monotonic'>,
  read: () => Promise<string | undefined>,
  onChange: () => void,
): KeptReading => new KeptReading(clock, (last) => read().then((address) => address ?? last), onChange)

/** Asks the kernel for the route; sends nothing. Undefined without a route or a name; never rejects. */
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
