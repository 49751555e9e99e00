// Reads what the provider knows about a machine's host, as rarely as possible. A missing host counts as absent only once it can no longer be just
// invisible.
import { isBeingDeleted, uidOf } from '#api/schema/object-meta.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { foreignHost } from '#providers/foreign-host.ts'
import type { Provider } from '#providers/port.ts'
import { messageOf } from '#lib/errors.ts'
import type { ExhaustedOfferings } from '../provisioning/exhausted-offerings.ts'
import type { HostLists } from './lists.ts'
import { type OtherMachine, twoOnHost } from './in-use.ts'
import { ANY_HOST, type HostSightings } from './sightings.ts'
import { isForgotten, isInDoubt, offeringsOf } from '../provisioning/attempts.ts'
import { type HostSeen, type Seen, hasJoined, isInService, isLost, isOverSsh, isProvided } from '../seen.ts'

interface Tools {
  readonly hostLists: HostLists
  readonly exhausted: ExhaustedOfferings
  readonly sightings: HostSightings
  readonly now: () => number
  /** Another Machine that has this host. */
  readonly otherOn: (providerID: string) => OtherMachine | undefined
}

type About = Parameters<typeof hasJoined>[0] & Parameters<typeof isLost>[0]
type Found = Pick<Seen, 'host' | 'exhausted' | 'isJoinFixed'>

export async function observeHost(
  tools: Tools,
  provider: Provider | undefined,
  about: About,
  signal: AbortSignal,
): Promise<Found> {
  const { machine } = about
  if (!isProvided(machine)) return { host: { kind: 'NotAsked' } }
  if (provider === undefined) return { host: { kind: 'NoProvider' } }
  if (isOverSsh(machine)) return { host: { kind: 'NotAsked' } }
  const host = notOfTwo(tools, about, await hostOf(tools, provider, about, signal))
  const isJoinFixed = provider.capabilities.userDataBytes !== undefined
  if (hasJoined(about) || isBeingDeleted(machine)) return { host, isJoinFixed }
  tools.exhausted.recall(machine, tools.now())
  return { host, isJoinFixed, exhausted: offeringsOf(machine).map((o) => tools.exhausted.of(machine, o)) }
}

/** A provider may charge and throttle. It is asked by name only about machines that are being created or deleted, or are missing in its list. */
async function hostOf(tools: Tools, provider: Provider, about: About, signal: AbortSignal): Promise<HostSeen> {
  const { hostLists, sightings } = tools
  const { machine } = about
  const { providerID } = machine.spec
  const uid = uidOf(machine)
  if (!isBeingDeleted(machine) && providerID === undefined) {
    const made = hostLists.ofMachine(provider.name, uid, machine.status?.provisioning?.token)
    if (made !== undefined) return { kind: 'Host', host: made }
    // The call that creates the host finds out, and can be repeated.
    if (!hasJoined(about) && !isForgotten(machine, tools.now())) return { kind: 'NotAsked' }
  }
  if (!isBeingDeleted(machine) && hasJoined(about) && providerID !== undefined) {
    const listed = hostLists.read(provider.name, providerID, uid)
    // A list may be stale: ask for a missing host by name before drawing conclusions.
    if (listed.kind === 'Host') sightings.seen(listed.host)
    const isWanted = isLost(about) || readmissionOf(machine, tools.now())?.token === true
    if (listed.kind === 'Host' || (listed.kind === 'NotAsked' && !isWanted)) return listed
  }
  try {
    // A host from an attempt in doubt has no recorded id yet. Only the list shows whose it is.
    const isUnnamed = providerID === undefined || (isBeingDeleted(machine) && isInDoubt(machine))
    const host = isUnnamed
      ? preferred((await provider.list(signal)).hosts, machine, tools)
      : await provider.get(providerID, signal)
    if (host?.machineUid === uid) {
      sightings.seen(host)
      return { kind: 'Host', host }
    }
    // A machine that is being deleted leaves it: another machine with its name may have it now. For a serving machine, others may have changed its
    // host's tags.
    const foreign = foreignHost(host, uid)
    if (foreign !== undefined && !isBeingDeleted(machine)) return { kind: 'Unknown', why: foreign }
    const anyHost = isInDoubt(machine) || isForgotten(machine, tools.now()) ? ANY_HOST : undefined
    const unsureMs = sightings.untilSureMs(provider, uid, isUnnamed ? anyHost : providerID)
    // If no host was ever recorded, none can be missing.
    if (unsureMs === 0) return isUnnamed && !isBeingDeleted(machine) ? { kind: 'NotAsked' } : { kind: 'Gone' }
    const seconds = Math.ceil(sightings.sureWithinMs(provider) / 1_000)
    return {
      kind: 'Unknown',
      why: `the provider does not show the host, which may be new or shown wrongly; that takes up to ${seconds} s to tell`,
    }
  } catch (e) {
    return { kind: 'Unknown', why: messageOf(e).slice(0, 200) }
  }
}

/** If two Machines have the host, nothing is concluded about it, and neither deletes it. */
function notOfTwo({ otherOn }: Tools, about: About, host: HostSeen): HostSeen {
  const other = host.kind === 'Host' ? otherOn(host.host.providerID) : undefined
  if (host.kind !== 'Host' || other === undefined) return host
  // A machine that never served leaves the host to the other one. But not to one that is also being deleted, or both would leave it.
  if (isBeingDeleted(about.machine) && !isInService(about) && !other.isDeleting) return { kind: 'Gone' }
  return { kind: 'Unknown', why: twoOnHost(host.host.providerID, other) }
}

type Machine = Seen['machine']

/** If a machine has several hosts: the recorded one first, then the latest attempt's. */
function preferred<
  H extends { readonly machineUid: string; readonly providerID: string; readonly clientToken: string },
>(hosts: readonly H[], machine: Machine, { otherOn }: Pick<Tools, 'otherOn'>): H | undefined {
  const isOfOther = (id: string) => otherOn(id)?.isDeleting === false
  const own = hosts.filter((h) => h.machineUid === uidOf(machine) && !isOfOther(h.providerID))
  const token = machine.status?.provisioning?.token
  return own.find((h) => h.providerID === machine.spec.providerID) ?? own.find((h) => h.clientToken === token) ?? own[0]
}
