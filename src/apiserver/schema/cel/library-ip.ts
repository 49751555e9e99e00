// IP addresses and CIDR blocks in CEL.
import { fn, method, type Overload, readsFirst, traversal } from './functions.ts'
import {
  containsIp,
  formatCidr,
  formatIp,
  type IpAddress,
  type IpBlock,
  isGlobalUnicast,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  masked,
  parseCidr,
  parseIp,
} from '#lib/ip-address.ts'
import { BOOL, INT, opaque, STRING } from './types.ts'
import { CelBox, CelError, type CelOpaque, type CelValue } from './values.ts'

export const IP = opaque('net.IP')
export const CIDR = opaque('net.CIDR')

class CelIp extends CelBox<IpAddress> {
  readonly type = IP

  equals(other: CelOpaque): boolean {
    return other instanceof CelIp && other.of.bits === this.of.bits && other.of.value === this.of.value
  }
}

class CelCidr extends CelBox<IpBlock> {
  readonly type = CIDR

  equals(other: CelOpaque): boolean {
    return other instanceof CelCidr && formatCidr(other.of) === formatCidr(this.of)
  }
}

const noIp = (text: string): CelError =>
  new CelError(`IP Address ${JSON.stringify(text)} parse error during conversion from string`)
const noCidr = (text: string): CelError =>
  new CelError(`network address parse error during conversion from string: ${JSON.stringify(text)}`)

function makeIp(text: string): CelValue {
  const ip = parseIp(text)
  return ip === undefined ? noIp(text) : new CelIp(ip)
}

function makeCidr(text: string): CelValue {
  const block = parseCidr(text)
  return block === undefined ? noCidr(text) : new CelCidr(block)
}

function isCanonical(text: string): CelValue {
  const ip = parseIp(text)
  return ip === undefined ? noIp(text) : formatIp(ip) === text
}

function containsIpText(cidr: CelCidr, text: string): CelValue {
  const ip = parseIp(text)
  return ip === undefined ? noIp(text) : containsIp(cidr.of, ip)
}

const containsBlock = (outer: IpBlock, inner: IpBlock): boolean =>
  outer.prefix <= inner.prefix && containsIp(outer, inner.address)

function containsCidrText(cidr: CelCidr, text: string): CelValue {
  const block = parseCidr(text)
  return block === undefined ? noCidr(text) : containsBlock(cidr.of, block)
}

/** Twice the bytes of a block, and once more the text. */
const containsCost = (): number => traversal(32)
const containsTextCost = ([, text = null]: readonly CelValue[]): number =>
  traversal(32) + traversal(typeof text === 'string' ? text.length : 0)

const S = STRING
const ask = (name: string, is: (ip: IpAddress) => boolean): Overload => method(name, [IP], BOOL, (a: CelIp) => is(a.of))

export const IP_FUNCTIONS: readonly Overload[] = [
  fn('ip', [S], IP, makeIp, readsFirst()),
  fn('isIP', [S], BOOL, (s: string) => parseIp(s) !== undefined, readsFirst()),
  fn('ip.isCanonical', [S], BOOL, isCanonical, readsFirst(2)),
  fn('string', [IP], S, (a: CelIp) => formatIp(a.of)),
  method('family', [IP], INT, (a: CelIp) => (a.of.bits === 32 ? 4n : 6n)),
  ask('isUnspecified', isUnspecified),
  ask('isLoopback', isLoopback),
  ask('isLinkLocalMulticast', isLinkLocalMulticast),
  ask('isLinkLocalUnicast', isLinkLocalUnicast),
  ask('isGlobalUnicast', isGlobalUnicast),
  fn('cidr', [S], CIDR, makeCidr, readsFirst()),
  fn('isCIDR', [S], BOOL, (s: string) => parseCidr(s) !== undefined, readsFirst()),
  fn('string', [CIDR], S, (c: CelCidr) => formatCidr(c.of)),
  method('containsIP', [CIDR, IP], BOOL, (c: CelCidr, a: CelIp) => containsIp(c.of, a.of), containsCost),
  method('containsIP', [CIDR, S], BOOL, containsIpText, containsTextCost),
  method('containsCIDR', [CIDR, CIDR], BOOL, (c: CelCidr, d: CelCidr) => containsBlock(c.of, d.of), containsCost),
  method('containsCIDR', [CIDR, S], BOOL, containsCidrText, containsTextCost),
  method('ip', [CIDR], IP, (c: CelCidr) => new CelIp(c.of.address)),
  method('masked', [CIDR], CIDR, (c: CelCidr) => new CelCidr(masked(c.of))),
  method('prefixLength', [CIDR], INT, (c: CelCidr) => BigInt(c.of.prefix)),
]
