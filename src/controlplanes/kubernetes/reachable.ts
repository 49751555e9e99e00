// Decides which addresses a control plane's API servers may call. Kubelets, webhooks and extension API servers may be anywhere, and a user may name any
// address. So only addresses that none of them can have are blocked: this host, its local network, cloud credential endpoints, and the hub's network. Pure.
import type { AddressBlock } from '#api/constructs/control-plane/settings.ts'
import { FORBIDDEN_RANGES } from '#runtime/outbound/forbidden-address.ts'
import { formatCidr, masked, parseCidr, parseIp, type IpBlock } from '#lib/ip-address.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { listAt, recordAt } from './fields-of.ts'

/** Network settings in a hub's version file. */
export interface HubNetwork {
  /** If left out: the addresses and pod ranges of its Nodes. */
  readonly closed?: readonly string[]
  /** Exceptions from the closed ranges. */
  readonly open: readonly string[]
}

export const NO_NETWORK: HubNetwork = { open: [] }

/** A network plugin creates rules for each; a hub with more Nodes lists its ranges. */
const MOST_RANGES = 500
const ALL = { 32: '0.0.0.0/0', 128: '::/0' } as const

/** Pod ranges come first, because most pods do not require credentials. */
export function rangesOfNodes(nodes: readonly KubeObject[]): readonly string[] {
  const pods = nodes.flatMap((node) => {
    const { podCIDR, podCIDRs } = recordAt(node, 'spec')
    return Array.isArray(podCIDRs) ? podCIDRs.map(String) : typeof podCIDR === 'string' ? [podCIDR] : []
  })
  const own = nodes.flatMap((node) =>
    listAt(recordAt(node, 'status'), 'addresses').flatMap(({ address }) => {
      const ip = typeof address === 'string' ? parseIp(address) : undefined
      return ip === undefined ? [] : [formatCidr({ address: ip, prefix: ip.bits })]
    }),
  )
  return [...merged(pods), ...merged(own)].slice(0, MOST_RANGES)
}

export function reachable(closed: readonly string[], open: readonly string[]): readonly AddressBlock[] {
  // A range never closes a whole address family, which cannot be excluded from itself.
  const ranges = merged([...FORBIDDEN_RANGES, ...closed.filter((range) => !range.endsWith('/0'))])
  const all = ([32, 128] as const).map((bits) => ({
    cidr: ALL[bits],
    except: ranges.filter((text) => text.includes(':') === (bits === 128)),
  }))
  return [...all, ...merged(open).map((cidr) => ({ cidr }))]
}

/** Canonical, sorted and merged. Drops texts that are not ranges. */
function merged(texts: readonly string[]): readonly string[] {
  const blocks = texts.flatMap((text) => {
    const block = parseCidr(text)
    return block === undefined ? [] : [masked(block)]
  })
  const found = new Map<string, IpBlock>()
  const add = (block: IpBlock): void => {
    const { address, prefix } = block
    if (prefix <= 1) return void found.set(blockKey(block), block)
    const size = 1n << BigInt(address.bits - prefix)
    const beside = blockKey({ address: { bits: address.bits, value: address.value ^ size }, prefix })
    if (!found.delete(beside)) return void found.set(blockKey(block), block)
    add(masked({ address, prefix: prefix - 1 }))
  }
  for (const block of blocks.toSorted((a, b) => a.prefix - b.prefix)) if (!isCovered(block, found)) add(block)
  return [...found.values()].toSorted(inOrder).map(formatCidr)
}

function isCovered({ address, prefix }: IpBlock, found: ReadonlyMap<string, IpBlock>): boolean {
  for (let wider = prefix; wider >= 0; wider--) if (found.has(blockKey(masked({ address, prefix: wider })))) return true
  return false
}

const blockKey = ({ address: { bits, value }, prefix }: IpBlock): string => `${bits} ${value} ${prefix}`

const inOrder = (a: IpBlock, b: IpBlock): number =>
  a.address.bits - b.address.bits || (a.address.value < b.address.value ? -1 : 1)
