// Resolves a name once and checks every address before connecting: a second lookup could return another address.
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isForbiddenAddress } from './forbidden-address.ts'

/** The name resolves to a forbidden address. Nothing was sent. */
export class ForbiddenAddressError extends Error {
  readonly address: string

  constructor(hostname: string, address: string) {
    super(`${hostname} leads to ${address}, an address that must not be called`)
    this.address = address
  }
}

/** Without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** The URL's host if it is a forbidden address itself; no lookup is needed. */
export function forbiddenHostOf(url: URL, own: ReadonlySet<string>): string | undefined {
  const host = hostOf(url)
  return isIP(host) > 0 && isForbiddenAddress(host, own) ? host : undefined
}

export interface LookupOptions {
  /** The operator vouches for this host, wherever it leads. */
  readonly isTrusted: boolean
  /** Canonical addresses of this host and of API servers (`ownPlaces`). */
  readonly own: ReadonlySet<string>
  /** Replaced in tests only. */
  readonly lookup?: LookupFunction | undefined
}

/** All addresses of a name must be allowed: of two that alternate, a forbidden one could get through by luck. */
export function checkedLookup({ isTrusted, own, lookup = systemLookup }: LookupOptions): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null) return callback(error, [])
      const list = typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found
      const bad = isTrusted ? undefined : list.find(({ address }) => isForbiddenAddress(address, own))
      if (bad !== undefined) return callback(new ForbiddenAddressError(hostname, bad.address), [])
      const [first] = list
      if (first === undefined) return callback(new Error(`${hostname} has no address`), [])
      return options.all === true ? callback(null, list) : callback(null, first.address, first.family)
    })
}
