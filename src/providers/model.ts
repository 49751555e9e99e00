// The host model shared by providers and controllers, as schemas. The port's types, the checks of external answers and the kubenode-provider/v1 page are
// derived from it.
import { bool, choice, int, list, map, obj, optional, str, time } from '#api/build.ts'
import { MAINTENANCE_ANSWERS, MAINTENANCE_KINDS, MAINTENANCE_STATES } from '#api/kinds/maintenance-event.ts'
import { FAULT_CATEGORIES } from '#api/kinds/operations.ts'

export const MAX_TEXT = 1_024

export const VISIBLE = '^[!-~]+$'
export const word = (doc: string, max: number) =>
  str(doc, { min: 1, max, pattern: VISIBLE, expects: 'visible ASCII characters without spaces' })
/** For people: terminal control characters are replaced before it is shown or stored. */
export const text = (doc: string) => str(doc, { max: MAX_TEXT })

/** Unique across all providers; the value of `Machine.spec.providerID`. */
export const providerID = (doc: string) =>
  str(doc, { min: 4, max: 253, pattern: '^[a-z][a-z0-9-]{0,31}://[!-~]+$', expects: 'an id such as name://host-1' })
export const machineName = str('Name of the Machine.', {
  min: 1,
  max: 253,
  pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
})
/** The host's owner, even after its machine's name was reused. */
export const machineUid = word('Uid of the Machine: the owner of the host.', 64)

/** A spot host can be reclaimed with minutes of notice. */
const MARKETS = ['OnDemand', 'Spot'] as const
/** A Machine lists suitable offerings, best first. */
export const offering = obj('The way in which a host is had.', {
  zone: optional(word('Zone.', 63)),
  type: optional(word('Type of the host.', 63)),
  market: optional(choice('How it is paid for.', MARKETS)),
})

/** Limit of `Machine.spec.provider.params`. */
const MOST_PARAMS = 64

export const wantedHost = {
  /** A second create with the same token returns the first one's host, whatever happened to the reply. */
  clientToken: word('The same token always means the same host.', 128),
  machine: machineName,
  machineUid,
  offering: optional(offering),
  params: map('`Machine.spec.provider.params`.', str('A value.', { max: 4_096 }), { max: MOST_PARAMS }),
}

export const host = obj('A host.', {
  providerID: providerID('Id, which begins with the name of the provider and "://".'),
  clientToken: word('The token of the create that made it.', 128),
  machine: machineName,
  machineUid,
  state: choice('What it does.', ['Creating', 'Running', 'Stopped', 'Deleting']),
  address: optional(
    str('Address at which the cluster reaches it.', { min: 1, max: 253, pattern: '^[0-9A-Za-z.:%_-]+$' }),
  ),
  bootID: optional(word('Changes with every boot; left out where boots cannot be seen.', 128)),
  createdAt: time('When it was made.'),
  offering: optional(offering),
  place: optional(
    obj('Where it stands: hosts with equal values fail together.', {
      hostId: optional(word('The machine under it.', 253)),
      rack: optional(word('Its rack.', 253)),
    }),
  ),
})

export const hostEvent = obj('What happened to a host without our asking.', {
  providerID: providerID('The host.'),
  machine: machineName,
  kind: choice('What happened.', ['Started', 'Stopped', 'Rebooted', 'Deleted', 'Maintenance']),
  message: text('In a sentence.'),
})

export const capabilities = obj('What its hosts are like.', {
  isHostKept: bool('Hosts are there before their machines and stay when those go.'),
  visibleWithinMs: int('How long a new host may be missing in get and list.', { min: 0, max: 3_600_000 }),
  markets: list('Ways to pay; none where hosts are not made.', choice('A way.', MARKETS), { max: 2 }),
  userDataBytes: optional(int('Most text that a new host can be given.', { min: 0, max: 2 ** 31 - 1 })),
})

/** A vendor's terms are mapped to these kinds and states. */
export const maintenanceEvent = obj('Something announced, under way or ended.', {
  eventId: word('The same event always has the same id.', 253),
  providerID: providerID('The host.'),
  kind: choice('What happens to the host.', MAINTENANCE_KINDS),
  state: choice('How far it is.', MAINTENANCE_STATES),
  isUnplanned: bool('It was not announced: it happened.'),
  losesData: bool('Data on the own disks of the host is lost by it.'),
  isBill: optional(bool('What was paid for ends: a person can pay until then.')),
  notBefore: optional(time('It does not begin before.')),
  notAfter: optional(time('It begins at the latest.')),
  answers: list('Answers that it takes now.', choice('An answer.', MAINTENANCE_ANSWERS), { max: 3 }),
  description: text('In the words of the vendor.'),
})

/** What detectors found, in terms for which vendors have forms. */
export const faultCategory = choice('What is broken.', FAULT_CATEGORIES)

export const DELETED = ['Deleted', 'Deleting', 'Gone'] as const
export const ORDERED = ['Ordered', 'Gone'] as const
