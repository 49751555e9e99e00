// Decides which machines wait for a later slice because they run pods of KubeNode's own programs. No slice has two hosts of one program. The hosts of
// leaders come last, so that a leader stays until its set is nearly complete. The Defender covers what no plan sees, such as slices of other sets.
import type { Hosts } from '#nodes/own-pods.ts'

export interface Candidate {
  readonly name: string
  readonly node: string
}

export interface OwnHosts {
  readonly hosts: Hosts
  readonly leading: ReadonlySet<string>
}

/** Sorted by name, so that equal inputs give equal results. */
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
