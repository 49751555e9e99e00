// Which machines wait for a later slice because pods of our own programs run on them: no slice holds two hosts of one program, and the hosts of leaders come
// last, so that a leader stays where it is until its set is nearly complete. The Defender holds what no plan can see, such as slices of other sets.
import type { Hosts } from '#nodes/own-pods.ts'

export interface Candidate {
  readonly name: string
  readonly node: string
}

export interface OwnHosts {
  readonly hosts: Hosts
  readonly leading: ReadonlySet<string>
}

/** In the order of names: an equal question has an equal answer. */
const byName = (a: Candidate, b: Candidate): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

export function hostsForLater(candidates: readonly Candidate[], { hosts, leading }: OwnHosts): ReadonlySet<string> {
  const later = new Set<string>()
  const areLeadersNext = candidates.every((c) => leading.has(c.node))
  const used = new Set<string>()
  for (const { name, node } of candidates.filter((c) => hosts.has(c.node)).toSorted(byName)) {
    const roles = [...(hosts.get(node) ?? [])]
    if ((leading.has(node) && !areLeadersNext) || roles.some((role) => used.has(role))) later.add(name)
    else for (const role of roles) used.add(role)
  }
  return later
}
