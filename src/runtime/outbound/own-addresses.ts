// Reads the addresses of this host's interfaces, at each call: they come and go while a program runs.
import { networkInterfaces } from 'node:os'
import { canonical } from './forbidden-address.ts'

/** Canonical, loopback included. */
export const addressesOfThisHost = (): ReadonlySet<string> =>
  new Set(
    Object.values(networkInterfaces())
      .flatMap((of) => of ?? [])
      .map(({ address }) => canonical(address.split('%', 1)[0] ?? '')),
  )

/** Together with hosts of API servers that the program works for: nothing in a cluster may have it call either. */
export const ownPlaces = (apiServers: Iterable<string> = []): ReadonlySet<string> =>
  addressesOfThisHost().union(new Set(apiServers))
