// Decides where an object's URL must not lead: this host, its local network, cloud credential endpoints, and Kubernetes' own programs. The single list for all
// outbound calls. Pure: the caller passes this host's addresses (`own-addresses.ts`).
import { BlockList, isIP } from 'node:net'

/** Canonical. */
export const FORBIDDEN_RANGES = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  // Link-local: 169.254.169.254 serves the host's credentials.
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The same service on other clouds.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32',
  'fd20:ce::/32',
] as const

const forbidden = new BlockList()
for (const range of FORBIDDEN_RANGES) {
  const [network = '', prefix] = range.split('/')
  forbidden.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
}

/** IPv6 forms that embed an IPv4 address (NAT64, 6to4, SIIT) and may lead to any of the above. */
const CARRIERS = new BlockList()
CARRIERS.addSubnet('64:ff9b::', 96, 'ipv6')
CARRIERS.addSubnet('64:ff9b:1::', 48, 'ipv6')
CARRIERS.addSubnet('2002::', 16, 'ipv6')
CARRIERS.addSubnet('::ffff:0:0:0', 96, 'ipv6')

/**
 * Programs on these ports control nodes and hold cluster state: kubelet, scheduler, controller manager, etcd, an API server. A kubelet also answers without a
 * token if an administrator left it open.
 */
export const KUBERNETES_PORTS: ReadonlySet<number> = new Set([2379, 2380, 2381, 6443, 10250, 10255, 10257, 10259])

/** Names of the API server in the program's own cluster. */
export const isApiServerName = (host: string): boolean => /^kubernetes(\.default(\.svc(\..+)?)?)?\.?$/i.test(host)

const NO_ADDRESSES: ReadonlySet<string> = new Set()

/** `own`: this host's addresses, canonical. Anything that is not an address is forbidden too. */
export function isForbiddenAddress(address: string, own: ReadonlySet<string> = NO_ADDRESSES): boolean {
  const plain = address.replace(/^\[|\]$/g, '').split('%', 1)[0] ?? ''
  const family = isIP(plain)
  if (family === 4) return forbidden.check(plain, 'ipv4') || own.has(plain)
  if (family !== 6) return true
  const mapped = mappedOf(plain)
  if (mapped !== undefined) return forbidden.check(mapped, 'ipv4') || own.has(mapped)
  return forbidden.check(plain, 'ipv6') || CARRIERS.check(plain, 'ipv6') || own.has(canonical(plain))
}

/** The canonical form of an address. */
export const canonical = (address: string): string =>
  isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.replace(/^\[|\]$/g, '') : address

/** `::ffff:1.2.3.4` in any notation, and the old `::1.2.3.4`. */
function mappedOf(address: string): string | undefined {
  const { hostname } = new URL(`http://[${address}]`)
  const match = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname)
  if (match === null) return undefined
  const [high, low] = [parseInt(match[1] ?? '', 16), parseInt(match[2] ?? '', 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
