// Which URLs of objects the controllers may call: origins that the operator listed, and no addresses that only this machine can reach unless they are listed themselves.
import { BlockList, isIP } from 'node:net'
import { KubeNodeError } from '#lib/errors.ts'
import { runtimeErrors } from '../runtime-errors.ts'

export interface Place {
  /** `https://host:port`, as URLs compare. */
  readonly origin: string
  /** Empty, or begins with a slash: the URL's path must be it or lie below it. */
  readonly path: string
  /** Written as an address or localhost: whoever wrote it meant that machine. */
  readonly isLiteral: boolean
}

export interface OutboundPlaces {
  readonly places: readonly Place[]
}

const LOCAL_NAMES = /(^|\.)localhost$/i

/** `https://hooks.example.org/repairs`; `http:` only where it is written so. */
export function parsePlaces(texts: readonly string[]): OutboundPlaces {
  return {
    places: texts.map((text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined
      const isPlain =
        url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
      if (url === undefined || !isPlain || (url.protocol !== 'https:' && url.protocol !== 'http:'))
        throw new KubeNodeError(runtimeErrors.KN3080({ text: JSON.stringify(text) }))
      const host = hostOf(url)
      return {
        origin: url.origin,
        path: url.pathname.replace(/\/$/, ''),
        isLiteral: isIP(host) > 0 || LOCAL_NAMES.test(host),
      }
    }),
  }
}

/** Without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

export type UrlVerdict =
  | { readonly kind: 'Allowed'; readonly url: URL; readonly place: Place }
  | { readonly kind: 'Refused'; readonly why: string }

/** Judged by how the URL is understood, never by how it is written. Messages name the origin alone: a path may hold a secret. */
export function judgeUrl(text: string, { places }: OutboundPlaces): UrlVerdict {
  const refused = (why: string): UrlVerdict => ({ kind: 'Refused', why })
  if (!URL.canParse(text)) return refused('not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(`${url.protocol} is not supported`)
  if (url.username !== '' || url.password !== '') return refused('the URL contains credentials; use a secretRef')
  const found = places.find((p) => p.origin === url.origin && isBelow(url.pathname, p.path))
  return found === undefined
    ? refused(`${url.origin} with this path is not among the places that the controllers may call`)
    : { kind: 'Allowed', url, place: found }
}

/** `%2e%2e` and `%2f` are kept by the parser and may be taken for what they stand for by the other side. */
const isBelow = (path: string, root: string): boolean =>
  (path === root || path.startsWith(`${root}/`)) && !(root !== '' && /%2e|%2f|%5c/i.test(path))

const LOCAL = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  // Link-local, and with it the metadata services of clouds.
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Metadata services of clouds outside of the link-local range.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
] as const)
  LOCAL.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of [
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::254', 128],
] as const)
  LOCAL.addSubnet(address, bits, 'ipv6')

/** IPv4 in IPv6 (mapped, compatible, NAT64, 6to4) is judged as what it leads to. */
export function isLocalAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return true
  if (family === 4) return LOCAL.check(address, 'ipv4')
  const inner = embeddedIpv4(address)
  return LOCAL.check(address, 'ipv6') || (inner !== undefined && LOCAL.check(inner, 'ipv4'))
}

function embeddedIpv4(address: string): string | undefined {
  const words = wordsOf(address)
  const dotted = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const isZero = (n: number) => words.slice(0, n).every((w) => w === 0)
  const [a = 0, b = 0, c = 0] = words
  const [y = 0, z = 0] = words.slice(6)
  if (isZero(5) && (words[5] === 0xffff || words[5] === 0)) return dotted(y, z)
  if (a === 0x64 && b === 0xff9b) return dotted(y, z)
  return a === 0x2002 ? dotted(b, c) : undefined
}

/** The eight words of an IPv6 address; the URL parser brings it into its canonical form. */
function wordsOf(address: string): readonly number[] {
  const bare = address.replace(/%.*$/, '')
  const canonical = hostOf(new URL(`http://[${bare}]/`))
  const [head = '', tail] = canonical.split('::', 2)
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((w) => Number.parseInt(w, 16)))
  if (tail === undefined) return parse(head)
  const [left, right] = [parse(head), parse(tail)]
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
}
