// Resolves a name once and checks every address before any is connected to: a second question could get another answer.
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isForbiddenAddress } from './forbidden-address.ts'

/** The name leads to an address that the caller may not connect to. Nothing was sent. */
export class ForbiddenAddressError extends Error {
  readonly address: string

  constructor(hostname: string, address: string) {
    super(`${hostname} leads to ${address}, an address that must not be called`)
    this.address = address
  }
}

/** Without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** The host of the URL where it is written as a forbidden address: then no name is looked up. */
export function forbiddenHostOf(url: URL, own: ReadonlySet<string>): string | undefined {
  const host = hostOf(url)
  return isIP(host) > 0 && isForbiddenAddress(host, own) ? host : undefined
}

export interface LookupOptions {
  /** The operator vouches for this place, wherever it leads. */
  readonly isTrusted: boolean
  /** Addresses of this host and of API servers, canonical (`ownPlaces`). */
  readonly own: ReadonlySet<string>
  /** Only tests hand in another one. */
  readonly lookup?: LookupFunction | undefined
}

/** For a request: all addresses of a name must be good, since one of two that alternate could get through by luck. */
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
