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
} from './ip-address.ts'
import { BOOL, INT, opaque, STRING } from './types.ts'
import { CelError, CelOpaque, type CelValue } from './values.ts'

export const IP = opaque('net.IP')
export const CIDR = opaque('net.CIDR')

class CelIp extends CelOpaque {
  readonly type = IP
  readonly ip: IpAddress

  constructor(ip: IpAddress) {
    super()
    this.ip = ip
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CelIp && other.ip.bits === this.ip.bits && other.ip.value === this.ip.value
  }
}

class CelCidr extends CelOpaque {
  readonly type = CIDR
  readonly block: IpBlock

  constructor(block: IpBlock) {
    super()
    this.block = block
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CelCidr && formatCidr(other.block) === formatCidr(this.block)
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
  return ip === undefined ? noIp(text) : containsIp(cidr.block, ip)
}

const containsBlock = (outer: IpBlock, inner: IpBlock): boolean =>
  outer.prefix <= inner.prefix && containsIp(outer, inner.address)

function containsCidrText(cidr: CelCidr, text: string): CelValue {
  const block = parseCidr(text)
  return block === undefined ? noCidr(text) : containsBlock(cidr.block, block)
}

/** Twice the bytes of a block, and once more the text. */
const containsCost = (): number => traversal(32)
const containsTextCost = ([, text = null]: readonly CelValue[]): number =>
  traversal(32) + traversal(typeof text === 'string' ? text.length : 0)

const S = STRING
const ask = (name: string, is: (ip: IpAddress) => boolean): Overload => method(name, [IP], BOOL, (a: CelIp) => is(a.ip))

export const IP_FUNCTIONS: readonly Overload[] = [
  fn('ip', [S], IP, makeIp, readsFirst()),
  fn('isIP', [S], BOOL, (s: string) => parseIp(s) !== undefined, readsFirst()),
  fn('ip.isCanonical', [S], BOOL, isCanonical, readsFirst(2)),
  fn('string', [IP], S, (a: CelIp) => formatIp(a.ip)),
  method('family', [IP], INT, (a: CelIp) => (a.ip.bits === 32 ? 4n : 6n)),
  ask('isUnspecified', isUnspecified),
  ask('isLoopback', isLoopback),
  ask('isLinkLocalMulticast', isLinkLocalMulticast),
  ask('isLinkLocalUnicast', isLinkLocalUnicast),
  ask('isGlobalUnicast', isGlobalUnicast),
  fn('cidr', [S], CIDR, makeCidr, readsFirst()),
  fn('isCIDR', [S], BOOL, (s: string) => parseCidr(s) !== undefined, readsFirst()),
  fn('string', [CIDR], S, (c: CelCidr) => formatCidr(c.block)),
  method('containsIP', [CIDR, IP], BOOL, (c: CelCidr, a: CelIp) => containsIp(c.block, a.ip), containsCost),
  method('containsIP', [CIDR, S], BOOL, containsIpText, containsTextCost),
  method('containsCIDR', [CIDR, CIDR], BOOL, (c: CelCidr, d: CelCidr) => containsBlock(c.block, d.block), containsCost),
  method('containsCIDR', [CIDR, S], BOOL, containsCidrText, containsTextCost),
  method('ip', [CIDR], IP, (c: CelCidr) => new CelIp(c.block.address)),
  method('masked', [CIDR], CIDR, (c: CelCidr) => new CelCidr(masked(c.block))),
  method('prefixLength', [CIDR], INT, (c: CelCidr) => BigInt(c.block.prefix)),
]
