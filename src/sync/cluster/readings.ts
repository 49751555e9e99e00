// Reads the values that gates check: machines, their components, and repairs. An unreadable value is absent, never zero.
import type { KnownFailure } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { INCONSISTENT, machinePart, NOT_READY } from '../release/baseline.ts'
import type { ClusterReadings } from '../release/gates.ts'
import type { CallOptions } from '#kube/client.ts'
import { listAll, listPages } from '#kube/list-all.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { BROKEN } from '#api/protocol/component-order.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { isSpecObserved, uidOf } from '#api/schema/object-meta.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { syncErrors } from '../sync-errors.ts'
import { declaringSets, isConsistent } from './consistent.ts'

export interface MachineCount {
  readonly total: number
  readonly ready: number
  /** Machines whose agent renews its Lease. */
  readonly agents: number
}

/** For a Cluster's status. Undefined when the machines cannot be read. */
export async function machineCount(
  { program: client }: ClusterConnection,
  signal: AbortSignal,
): Promise<MachineCount | undefined> {
  let [ready, agents] = [0, 0]
  const count = (m: Machine): readonly true[] => {
    if (isReady(m)) ready++
    if (hasAgent(m)) agents++
    return [true]
  }
  const found = await listed(client, machine, { signal }, count).catch(() => undefined)
  return found === undefined ? undefined : { total: found.length, ready, agents }
}

export interface ReadingNeeds {
  readonly machines: boolean
  readonly repairs: boolean
}

/** Runs before anything is applied. Fails when the cluster does not answer, instead of leaving values out. */
export async function surveyOf(
  { program: client }: ClusterConnection,
  needs: ReadingNeeds,
  signal: AbortSignal,
): Promise<ClusterReadings> {
  const [machines, repairs] = await Promise.all([
    needs.machines ? machinesOf(client, { signal }) : undefined,
    needs.repairs ? listed(client, remedyOperationJob, { signal }, repairOf) : undefined,
  ])
  return defined({ machines, repairs })
}

export async function readingsOf(
  { program: client }: ClusterConnection,
  needs: ReadingNeeds,
  signal: AbortSignal | undefined,
): Promise<ClusterReadings> {
  const call = signal === undefined ? {} : { signal }
  const machines = needs.machines ? await machinesOf(client, call).catch(() => undefined) : undefined
  const repairs = needs.repairs
    ? await listed(client, remedyOperationJob, call, repairOf).catch(() => undefined)
    : undefined
  return defined({ machines, repairs })
}

/** Twenty times the machines of the largest clusters. A compromised member may return endless pages. */
export const MAX_LISTED = 100_000

/** Picks the needed values of each object, page by page: whole objects would take hundreds of megabytes for some large clusters. */
async function listed<T extends KubeObject, U>(
  client: ClusterConnection['program'],
  type: ResourceType<T>,
  call: CallOptions,
  wanted: (object: T) => readonly U[],
): Promise<readonly U[]> {
  const found: U[] = []
  let count = 0
  for await (const page of listPages(client, type, call)) {
    // An empty page also counts.
    count += Math.max(1, page.length)
    if (count > MAX_LISTED) throw new KubeNodeError(syncErrors.KN7308({ kind: type.plural, most: MAX_LISTED }))
    for (const object of page) found.push(...wanted(object))
  }
  return found
}

/** Without the sets it is unknown what is declared, and therefore which machines match. */
async function machinesOf(
  client: ClusterConnection['program'],
  call: CallOptions,
): Promise<NonNullable<ClusterReadings['machines']>> {
  const sets = await listAll(client, machineComponentSet, call)
  const declaring = declaringSets(sets)
  const skipped = new Set(
    // Machines that the controller skipped for an earlier declaration are irrelevant for this one.
    sets.filter(isSpecObserved).flatMap(({ status }) => (status?.skipped ?? []).map((s) => s.machine)),
  )
  const machines = await listed(client, machine, call, (m) => [
    {
      uid: uidOf(m),
      isReady: isReady(m),
      isConsistent: isConsistent(m, declaring),
      isSkipped: skipped.has(m.metadata.name ?? ''),
    },
  ])
  const uids = (is: (m: (typeof machines)[number]) => boolean) => machines.filter(is).map(({ uid }) => uid)
  return {
    total: machines.length,
    notReady: uids((m) => !m.isReady),
    inconsistent: uids((m) => !m.isConsistent),
    skipped: uids((m) => m.isSkipped),
  }
}

function repairOf({ metadata, spec }: RemedyOperationJob): NonNullable<ClusterReadings['repairs']> {
  const at = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(at)
    ? []
    : [{ at, names: [spec.node.name, ...(spec.machine === undefined ? [] : [spec.machine])] }]
}

/** Phases in which a machine is being changed and recovers by itself. */
const IN_CHANGE: ReadonlySet<string> = new Set(['Updating', 'Draining'])

/** A machine with no broken component waits for its turn, or has it. */
const isInChange = ({ status }: Machine, ready: boolean): boolean =>
  IN_CHANGE.has(status?.phase ?? '') || (ready && status?.components?.some((c) => BROKEN.has(c.state)) !== true)

/** For the baseline. An unreadable value does not count as an earlier failure. */
export async function failingMachines(
  { program: client }: ClusterConnection,
  signal: AbortSignal | undefined,
): Promise<readonly KnownFailure[]> {
  const call = signal === undefined ? {} : { signal }
  const failing = (m: Machine): readonly KnownFailure[] => {
    // Compares with the machine's orders: something that was not ordered yet has not failed before.
    const [ready, consistent] = [isReady(m), isConsistent(m, [])]
    if (ready && consistent) return []
    const name = m.metadata.name ?? ''
    return [
      {
        object: `${machine.kind}.${machine.group}/${name}`,
        uid: uidOf(m),
        part: machinePart(name),
        state: isInChange(m, ready) ? 'InProgress' : 'Failed',
        reason: ready ? INCONSISTENT : NOT_READY,
      },
    ]
  }
  return listed(client, machine, call, failing).catch(() => [])
}

const isReady = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true || status?.phase === 'Ready'

const hasAgent = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status === 'True') === true
