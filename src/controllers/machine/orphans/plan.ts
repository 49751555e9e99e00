// Decides which hosts belong to no Machine, and which of them may be deleted. Pure. After a restored backup, serving hosts look like orphans. So a
// host stays if its Node or agent was ever observed, and many orphans at once stop all deletions.
import type { Machine } from '#api/kinds/machine.ts'
import { counted } from '#lib/counted.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Host } from '#providers/port.ts'
import { machinesByHost } from '../hosts/in-use.ts'

/** A create with a lost reply is repeated within seconds. A user who restores a cluster backup needs longer to notice. */
export const ORPHAN_GRACE_MS = 15 * 60_000
/** More at once are not leftovers: the Machines were lost, or this is the wrong cluster. */
const MOST_ORPHANS = 3
const MOST_ORPHANS_SHARE = 0.01

export interface OrphanInput {
  /** A complete list, read before the Machines. */
  readonly hosts: readonly Host[]
  readonly machines: readonly Pick<Machine, 'metadata' | 'spec' | 'status'>[]
  /** The Node or agent of a host that was ever observed. */
  readonly lastSeenOf: (host: Host) => string | undefined
  /** When each host was first listed without a Machine, by providerID and our clock. */
  readonly since: ReadonlyMap<string, number>
  readonly now: number
  readonly visibleWithinMs: number
  readonly policy: OrphanPolicy
  /** Whether a person approved the deletion of exactly this host. */
  readonly isApproved: (host: Host) => boolean
}

export interface OrphanPlan {
  readonly orphans: readonly Host[]
  /** Without a Machine for longer than the grace period, and neither Node nor agent ever observed. */
  readonly remove: readonly Host[]
  /** Why the others stay although their grace period is over. */
  readonly kept: readonly { readonly host: Host; readonly why: string }[]
}

export const mostOrphans = (hosts: number): number => Math.max(MOST_ORPHANS, Math.ceil(hosts * MOST_ORPHANS_SHARE))

export function planOrphans(input: OrphanInput): OrphanPlan {
  const { hosts, machines, since, now, visibleWithinMs, policy, lastSeenOf, isApproved } = input
  const orphans = orphansIn(input)
  // The host was in the list then and is in this one: two complete lists, this far apart.
  const graceMs = Math.max(ORPHAN_GRACE_MS, visibleWithinMs)
  const due = orphans.filter((h) => now - (since.get(h.providerID) ?? now) >= graceMs)
  const most = mostOrphans(hosts.length)
  const claimOf = machinesByHost(machines)
  const why = (h: Host): string | undefined => {
    // The provider reports it as another Machine's host, possibly by mistake.
    const claim = claimOf(h)
    if (claim !== undefined) return `${claim}; delete that Machine or delete the host at the provider`
    const lastSeen = lastSeenOf(h)
    if (lastSeen !== undefined) return `${lastSeen}; adopt it or delete it at the provider`
    if (isApproved(h)) return undefined
    if (orphans.length > most)
      return `${counted(orphans.length, 'host', 'hosts')} without a Machine at once (limit ${most}); check whether Machines were lost`
    return policy === 'Delete'
      ? undefined
      : `reported only; kubenode provider orphans --delete ${shellWord(h.providerID)} approves its deletion`
  }
  return {
    orphans,
    remove: due.filter((h) => why(h) === undefined),
    kept: due.flatMap((host) => {
      const reason = why(host)
      return reason === undefined ? [] : [{ host, why: reason }]
    }),
  }
}

/** Hosts of unknown machines, and extra hosts of a machine whose recorded host is also listed. */
function orphansIn({ hosts, machines }: OrphanInput): readonly Host[] {
  const byUid = new Map(machines.map((m) => [m.metadata.uid, m]))
  const listed = new Map(hosts.filter((h) => h.state !== 'Deleting').map((h) => [h.providerID, h]))
  return hosts.filter((h) => {
    if (h.state === 'Deleting') return false
    const machine = byUid.get(h.machineUid)
    if (machine === undefined) return true
    const { providerID } = machine.spec
    const recorded = providerID === undefined ? undefined : listed.get(providerID)
    if (recorded === undefined || providerID === h.providerID) return false
    // The latest attempt's host is not recorded yet. If the recorded host has the same token, the provider created two for it.
    const token = machine.status?.provisioning?.token
    return token !== h.clientToken || token === recorded.clientToken
  })
}
