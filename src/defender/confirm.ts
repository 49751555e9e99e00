// Before anything is granted, asks the API server whether the caches have the current policies, holds, approvals and host maintenance. Each kind has
// its own watch, and a watch that is stale or dead does not report it. A permit must not be granted after a freeze or a stricter policy was stored.
import { approval } from '#api/kinds/approval.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { maintenanceTable } from '#api/protocol/maintenance.ts'
import { isOver, phaseOfEvent } from '#nodes/faults/maintenance.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural } from '#api/schema/resource.ts'
import type { Caches } from './caches.ts'
import { type Decision, type PermitDecision, isGrantReported, isReported } from './plan.ts'

/** Returns the stale cache, or undefined. Throws if a list fails: unknown grants nothing. */
export async function cacheBehind(
  client: Pick<KubeClient, 'list'>,
  {
    policies,
    holds,
    approvals,
    brakes,
    maintenance,
  }: Pick<Caches, 'policies' | 'holds' | 'approvals' | 'brakes' | 'maintenance'>,
): Promise<string | undefined> {
  const behind = await Promise.all([
    isBehind(policies.list(), listAll(client, defenderPolicy)),
    isBehind(holds.list(), listAll(client, operationalHold)),
    isBehind(approvals.list(), listAll(client, approval)),
    isBehind(brakes.list(), listAll(client, fleetBrake)),
    isBehind(maintenance.list().filter(isOpen), openMaintenance(client), phaseKey),
  ])
  const types = [defenderPolicy, operationalHold, approval, fleetBrake, maintenanceEvent].filter(
    (_, i) => behind[i] === true,
  )
  if (types.length === 0) return undefined
  return `the cache of ${types.map(qualifiedPlural).join(' and ')} is behind the API server`
}

export const hasNewGrants = ({ permits }: Decision): boolean =>
  permits.some((p) => !isReported(p) && p.targets.some((t) => t.verdict.verdict === 'Granted'))

export const grantKey = ({ permitUid, target }: { readonly permitUid: string; readonly target: string }): string =>
  `${permitUid} ${target}`

/** Granted here, and not yet in the status of the permit. */
export const newGrants = ({ permits }: Decision): ReadonlySet<string> =>
  new Set(
    permits.flatMap(({ permit: { metadata, status }, targets }) =>
      targets
        .filter(({ target, verdict }) => verdict.verdict === 'Granted' && !isReportedIn(status, target))
        .map(({ target }) => grantKey({ permitUid: metadata.uid ?? '', target })),
    ),
  )

const isReportedIn = (status: PermitDecision['permit']['status'], target: string): boolean =>
  status !== undefined && isGrantReported(status, target)

async function isBehind<T extends KubeObject>(
  cached: readonly T[],
  listing: Promise<readonly T[]>,
  keyOf: (object: T) => string = contentKey,
): Promise<boolean> {
  const known = new Set(cached.map(keyOf))
  const current = await listing
  return current.length !== known.size || current.some((o) => !known.has(keyOf(o)))
}

const isOpen = (event: MaintenanceEvent): boolean => !isOver(event)

/** Ended events are kept for a month. The server filters them out, and what it cannot filter is dropped here. */
const openMaintenance = async (client: Pick<KubeClient, 'list'>): Promise<readonly MaintenanceEvent[]> =>
  (await listAll(client, maintenanceEvent, { fieldSelector: OPEN_ONLY })).filter(isOpen)

const OPEN_ONLY = maintenanceTable.terminal.map((phase) => `status.phase!=${phase}`).join(',')

/** The phase decides what is reserved and who stands off. */
const phaseKey = (event: MaintenanceEvent): string => `${contentKey(event)}/${phaseOfEvent(event)}`

/** Status changes do not matter. A started deletion counts as a generation. */
const contentKey = ({ metadata: { uid, generation } }: KubeObject): string => `${uid}/${generation}`
