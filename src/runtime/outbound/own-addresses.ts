// Reads the addresses of this host's interfaces at each call, because they change while a program runs.
import { networkInterfaces } from 'node:os'
import { canonical } from './forbidden-address.ts'

/** Canonical, including loopback. */
export const addressesOfThisHost = (): ReadonlySet<string> =>
  new Set(
    Object.values(networkInterfaces())
      .flatMap((of) => of ?? [])
      .map(({ address }) => canonical(address.split('%', 1)[0] ?? '')),
  )

/** Adds the API servers that this program works for: an object must never make it call either. */
export const ownPlaces = (apiServers: Iterable<string> = []): ReadonlySet<string> =>
  addressesOfThisHost().union(new Set(apiServers))
