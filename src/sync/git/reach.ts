// Decides whether a source may make sync call a git server at all: never this machine, its local network link, or a cloud's credential service.
// Invariant: git connects to the addresses checked here, and does not resolve the name again.
import { ADDRCONFIG, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { checkedLookup } from '#runtime/outbound/checked-lookup.ts'
import {
  canonical,
  isApiServerName,
  isForbiddenAddress,
  KUBERNETES_PORTS,
} from '#runtime/outbound/forbidden-address.ts'
import { ownPlaces } from '#runtime/outbound/own-addresses.ts'
import { syncErrors } from '../sync-errors.ts'
import { isLocal } from './local-url.ts'

export interface GitReach {
  /** Hosts, or HOST:PORT, that the operator trusts wherever they lead. `Any`: for a command run by a user. */
  readonly trusted?: readonly string[] | 'Any'
  /** Hosts of the API servers that sync works for. */
  readonly apiServers?: readonly string[]
  /** Addresses of this host; only tests change them. */
  readonly own?: ReadonlySet<string>
  /** Default: the system's resolver. */
  readonly lookup?: LookupFunction
}

/** The addresses found for one name. */
export interface Pin {
  readonly host: string
  readonly port: number
  readonly addresses: readonly string[]
}

/** Longer than a resolver needs to try two silent servers. */
const LOOKUP_MS = 20_000
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80, 'ssh:': 22 }
/** These names mean this machine, whatever a name server returns. */
const LOCAL_NAME = /(^|\.)localhost$/i
const PLAIN_HOST = /^([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])$/i

/** Empty for addresses, trusted hosts and local repositories: there is no name that could lead elsewhere. */
export async function pinsOf(url: string, proxy: string | undefined, reach: GitReach): Promise<readonly Pin[]> {
  if (isLocal(url)) return []
  // The proxy resolves the name, possibly in another network: only the text of the address can be checked here.
  const own = proxy === undefined ? await pinOf(url, url, reach) : void requireAllowed(placeIn(url, url), url, reach)
  const between = proxy === undefined ? undefined : await pinOf(proxy, url, reach)
  return [own, between].filter((p) => p !== undefined)
}

interface Place {
  readonly host: string
  readonly port: number
}

/** `url` is for messages. Throws when the host may not be called. */
async function pinOf(address: string, url: string, reach: GitReach): Promise<Pin | undefined> {
  const place = placeIn(address, url)
  if (requireAllowed(place, url, reach) === 'Trusted' || isIP(place.host) > 0) return undefined
  const addresses = await addressesOf(place.host, url, reach.lookup)
  const own = ownOf(reach)
  const bad = addresses.find((address) => isForbiddenAddress(address, own))
  if (bad !== undefined) throw forbidden(url, place.host, bad)
  return { ...place, addresses }
}

/** Parses like git, ssh and curl: an address that they could parse differently is refused. */
function placeIn(address: string, url: string): Place {
  const [, written = '', port = ''] =
    /^[a-z]+:\/\/(?:[^/?#\\@]*@)?(\[[^\]/?#\\@]*\]|[^:/?#\\@[\]]*)(?::(\d+))?(?:\/|$)/.exec(address) ?? []
  const parsed = URL.parse(address)
  const refuse = () => new KubeNodeError(syncErrors.KN1520_host({ url, host: JSON.stringify(written.slice(0, 100)) }))
  if (parsed === null || !PLAIN_HOST.test(written)) throw refuse()
  if (parsed.hostname.toLowerCase() !== written.toLowerCase() && !isSameAddress(parsed.hostname, written))
    throw refuse()
  const host = written.replace(/^\[|\]$/g, '')
  return { host, port: port === '' ? (DEFAULT_PORTS[parsed.protocol] ?? 0) : Number(port) }
}

/** One IPv6 address can be written in two ways. */
const isSameAddress = (a: string, b: string): boolean =>
  a.startsWith('[') && URL.parse(`https://${b}/`)?.hostname === URL.parse(`https://${a}/`)?.hostname

const ownOf = ({ own, apiServers }: GitReach): ReadonlySet<string> =>
  own?.union(new Set(apiServers)) ?? ownPlaces(apiServers)

function requireAllowed({ host, port }: Place, url: string, reach: GitReach): 'Trusted' | 'Checked' {
  const { trusted = [] } = reach
  if (trusted === 'Any') return 'Trusted'
  const shown = isIP(host) === 6 ? `[${host}]` : host
  const names = new Set(trusted.map((name) => name.toLowerCase()))
  if (names.has(shown.toLowerCase()) || names.has(`${shown}:${port}`.toLowerCase())) return 'Trusted'
  if (LOCAL_NAME.test(host)) throw forbidden(url, host, 'this machine')
  const own = ownOf(reach)
  if (isApiServerName(host) || own.has(canonical(host).toLowerCase()))
    throw forbidden(url, host, isIP(host) > 0 ? host : 'an API server')
  if (KUBERNETES_PORTS.has(port)) throw forbidden(url, host, `port ${port} of Kubernetes itself`)
  if (isIP(host) > 0 && isForbiddenAddress(host, own)) throw forbidden(url, host, host)
  return 'Checked'
}

/** For sync's own connection to the same server. */
export const lookupFor = (url: string, reach: GitReach): LookupFunction =>
  checkedLookup({
    isTrusted: requireAllowed(placeIn(url, url), url, reach) === 'Trusted',
    own: ownOf(reach),
    lookup: reach.lookup,
  })

const forbidden = (url: string, host: string, address: string) =>
  new KubeNodeError(syncErrors.KN7054({ url, host, address }), { retry: 'later' })

/** IPv4 first: ssh gets one address, and a machine without IPv6 may still get IPv6 addresses from DNS. */
async function addressesOf(
  host: string,
  url: string,
  lookup: LookupFunction = systemLookup,
): Promise<readonly string[]> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`not answered within ${LOOKUP_MS} ms`)), LOOKUP_MS)
  const found = new Promise<readonly string[]>((resolve, reject) => {
    lookup(host, { all: true, hints: ADDRCONFIG }, (error, all) => {
      if (error !== null) return reject(error)
      const list = typeof all === 'string' ? [all] : all.map((each) => each.address)
      resolve(list.map((each) => each.split('%', 1)[0] ?? '').toSorted((a, b) => isIP(a) - isIP(b)))
    })
  })
  try {
    const addresses = await Promise.race([found, late.promise])
    if (addresses.length === 0) throw new Error('it has no address')
    return addresses
  } catch (cause) {
    const why = `the name ${host} cannot be looked up: ${messageOf(cause)}`
    throw new KubeNodeError(syncErrors.KN7009({ url, why }), { retry: 'later', cause })
  } finally {
    clearTimeout(timer)
  }
}

/** Format of git's `http.curloptResolve`. */
export const curlPin = ({ host, port, addresses }: Pin): string =>
  `${host}:${port}:${addresses.map((a) => (isIP(a) === 6 ? `[${a}]` : a)).join(',')}`

/** Lines for ssh's configuration: the host key is still checked by name. */
export function sshPin({ host, port, addresses }: Pin): readonly (readonly [string, string])[] {
  const [address = ''] = addresses
  const alias = port === DEFAULT_PORTS['ssh:'] ? host : `[${host}]:${port}`
  return [
    ['HostName', address],
    ['HostKeyAlias', alias.toLowerCase()],
  ]
}
