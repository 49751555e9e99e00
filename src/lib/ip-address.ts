// IP addresses and blocks as numbers: parsed strictly (no zones, no leading zeros, no IPv4 inside IPv6), printed canonically.
import { isIPv4, isIPv6 } from 'node:net'

export interface IpAddress {
  readonly bits: 32 | 128
  readonly value: bigint
}

export interface IpBlock {
  readonly address: IpAddress
  readonly prefix: number
}

/** ::ffff:0:0/96, which embeds IPv4 addresses. */
const MAPPED_PREFIX = 0xffffn

/** Undefined if the text is not an address. */
export function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { bits: 32, value: fromParts(text.split('.'), 10, 8n) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const value = parseV6(text)
  return value >> 32n === MAPPED_PREFIX ? undefined : { bits: 128, value }
}

const fromParts = (parts: readonly string[], radix: number, width: bigint): bigint =>
  parts.reduce((n, part) => (n << width) | BigInt(Number.parseInt(part, radix)), 0n)

function parseV6(text: string): bigint {
  const [head = '', tail] = text.split('::')
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return fromParts([...left, ...zeros, ...right], 16, 16n)
}

/** Groups of 16 bits; an IPv4 suffix counts as two. */
const groups = (text: string): string[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        if (!group.includes('.')) return [group]
        const v4 = fromParts(group.split('.'), 10, 8n)
        return [(v4 >> 16n).toString(16), (v4 & 0xffffn).toString(16)]
      })

export function formatIp({ bits, value }: IpAddress): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((s) => (value >> s) & 0xffn).join('.')
  const parts = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  const runs = [...`:${parts.join(':')}:`.matchAll(/(?<=:)(?:0:){2,}/g)].toSorted((a, b) => b[0].length - a[0].length)
  const longest = runs[0]
  if (longest === undefined) return parts.join(':')
  const from = `:${parts.join(':')}:`.slice(1, longest.index).split(':').length - 1
  const count = longest[0].length / 2
  return `${parts.slice(0, from).join(':')}::${parts.slice(from + count).join(':')}`
}

/** Undefined if the text is not a block; the address keeps its host bits. */
export function parseCidr(text: string): IpBlock | undefined {
  const m = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text)
  const address = m === null ? undefined : parseIp(m[1] ?? '')
  const prefix = Number(m?.[2])
  return address === undefined || prefix > address.bits ? undefined : { address, prefix }
}

export const formatCidr = ({ address, prefix }: IpBlock): string => `${formatIp(address)}/${prefix}`

export function masked({ address, prefix }: IpBlock): IpBlock {
  const host = BigInt(address.bits - prefix)
  return { address: { bits: address.bits, value: (address.value >> host) << host }, prefix }
}

export function containsIp(block: IpBlock, ip: IpAddress): boolean {
  const { address, prefix } = block
  const host = BigInt(address.bits - prefix)
  return address.bits === ip.bits && address.value >> host === ip.value >> host
}

/** Parsed on first use: parsing an IPv6 address compiles a large regex, which would slow every start. */
const anyOf = (...texts: readonly string[]) => {
  let blocks: readonly IpBlock[] | undefined
  return (ip: IpAddress): boolean => {
    blocks ??= texts.map(parseCidr).filter((b) => b !== undefined)
    return blocks.some((block) => containsIp(block, ip))
  }
}

export const isUnspecified = (ip: IpAddress): boolean => ip.value === 0n
export const isLoopback = anyOf('127.0.0.0/8', '::1/128')
export const isLinkLocalUnicast = anyOf('169.254.0.0/16', 'fe80::/10')
export const isLinkLocalMulticast = anyOf('224.0.0.0/24', 'ff02::/16')
const isNotGlobal = anyOf('0.0.0.0/32', '::/128', '255.255.255.255/32', '224.0.0.0/4', 'ff00::/8')

export const isGlobalUnicast = (ip: IpAddress): boolean =>
  !isNotGlobal(ip) && !isLoopback(ip) && !isLinkLocalUnicast(ip)
