// Which Nodes run on the cloud's hosts with a tag. Pure. The cloud is only read: an import takes Nodes and leaves their hosts unchanged.
import { instanceIn, internalAddresses, spellingsOf } from '#nodes/host-ids.ts'
import type { Node } from '#nodes/objects.ts'
import type { TaggedHost } from '#providers/port.ts'

export interface TaggedNodes {
  readonly names: readonly string[]
  /** Hosts that are not Nodes here. */
  readonly withoutNode: readonly TaggedHost[]
  /** Hosts claimed by several Nodes: a user must find out which is wrong. */
  readonly doubled: readonly { readonly host: TaggedHost; readonly nodes: readonly string[] }[]
}

/** Matches by the Node's cloud id, or else by an address that belongs to exactly one Node. */
export function taggedNodes(hosts: readonly TaggedHost[], nodes: readonly Node[]): TaggedNodes {
  const byInstance = Map.groupBy(nodes.filter(isNamed), ({ spec }) => instanceIn(spec?.providerID ?? ''))
  const found = hosts.map((host) => ({
    host,
    own: orAtAddress(
      spellingsOf(host.providerID).flatMap((id) => byInstance.get(id) ?? []),
      host,
      nodes,
    ),
  }))
  return {
    names: found.flatMap(({ own }) => (own.length === 1 ? namesOf(own) : [])),
    withoutNode: found.flatMap(({ host, own }) => (own.length === 0 ? [host] : [])),
    doubled: found.flatMap(({ host, own }) => (own.length > 1 ? [{ host, nodes: namesOf(own) }] : [])),
  }
}

const namesOf = (nodes: readonly Node[]): readonly string[] => nodes.flatMap(({ metadata }) => metadata.name ?? [])

function orAtAddress(named: readonly Node[], { address }: TaggedHost, nodes: readonly Node[]): readonly Node[] {
  if (named.length > 0) return named
  // A Node with another instance id runs on another host, whatever its address.
  const there = nodes.filter((n) => !isNamed(n) && address !== undefined && internalAddresses(n).includes(address))
  return there.length === 1 ? there : []
}

const isNamed = ({ spec }: Node): boolean => (spec?.providerID ?? '') !== ''
