// Which Nodes run on the hosts that a cloud shows for a tag. Pure. The cloud is only read: an import takes Nodes, and their hosts stay as they are.
import { internalAddresses } from '#nodes/host-ids.ts'
import type { Node } from '#nodes/objects.ts'
import type { TaggedHost } from '#providers/port.ts'

export interface TaggedNodes {
  readonly names: readonly string[]
  /** Hosts that are no Node here. */
  readonly strangers: readonly TaggedHost[]
}

/** By the id that the Node has of its cloud, or else by its address, which must be that of one Node alone. */
export function taggedNodes(hosts: readonly TaggedHost[], nodes: readonly Node[]): TaggedNodes {
  const byInstance = new Map(nodes.flatMap((n) => (instanceOf(n) === undefined ? [] : [[instanceOf(n), n] as const])))
  const found = hosts.map((host) => ({
    host,
    node: byInstance.get(instanceIn(host.providerID)) ?? atAddress(host, nodes),
  }))
  return {
    names: found.flatMap(({ node }) => node?.metadata.name ?? []),
    strangers: found.flatMap(({ host, node }) => (node === undefined ? [host] : [])),
  }
}

function atAddress({ address }: TaggedHost, nodes: readonly Node[]): Node | undefined {
  // A Node that names another instance has another host, whatever its address says.
  const there = nodes.filter(
    (n) => instanceOf(n) === undefined && address !== undefined && internalAddresses(n).includes(address),
  )
  return there.length === 1 ? there[0] : undefined
}

const instanceOf = ({ spec }: Node): string | undefined =>
  spec?.providerID === undefined ? undefined : instanceIn(spec.providerID)

/** The last part, however the cloud and its controller write the rest: aws:///eu-central-1a/i-1, cn-hangzhou.i-1, alicloud://cn-hangzhou/i-1. */
const instanceIn = (providerID: string): string => providerID.split(/[/.]/).at(-1) ?? ''
