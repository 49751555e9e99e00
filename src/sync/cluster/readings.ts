// Reads the values that gates check: machines, their components, and repairs. An unreadable value is absent, never zero.
import type { KnownFailure } from '#api/kinds/inventory.ts'
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { INCONSISTENT, machinePart, NOT_READY } from '../release/baseline.ts'
import type { ClusterReadings } from '../release/gates.ts'
import type { CallOptions } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { declaringSets, isConsistent } from './consistent.ts'

export interface ReadingNeeds {
  readonly machines: boolean
  readonly repairs: boolean
}

/** Before anything is applied. Fails when the cluster does not answer, instead of leaving values out. */
export async function surveyOf(
  { program: client }: ClusterConnection,
  needs: ReadingNeeds,
  signal: AbortSignal,
): Promise<ClusterReadings> {
  const [machines, jobs] = await Promise.all([
    needs.machines ? machinesOf(client, { signal }) : undefined,
    needs.repairs ? listAll(client, remedyOperationJob, { signal }) : undefined,
  ])
  return {
    ...(machines === undefined ? {} : { machines }),
    ...(jobs === undefined ? {} : { repairs: jobs.flatMap(repairOf) }),
  }
}

export async function readingsOf(
  { program: client }: ClusterConnection,
  needs: ReadingNeeds,
  signal: AbortSignal | undefined,
): Promise<ClusterReadings> {
  const call = signal === undefined ? {} : { signal }
  const machines = needs.machines ? await machinesOf(client, call).catch(() => undefined) : undefined
  const jobs = needs.repairs ? await listAll(client, remedyOperationJob, call).catch(() => undefined) : undefined
  return {
    ...(machines === undefined ? {} : { machines }),
    ...(jobs === undefined ? {} : { repairs: jobs.flatMap(repairOf) }),
  }
}

/** Without the sets it is unknown what is declared, and so are the machines. */
async function machinesOf(
  client: ClusterConnection['program'],
  call: CallOptions,
): Promise<NonNullable<ClusterReadings['machines']>> {
  const [machines, sets] = await Promise.all([
    listAll(client, machine, call),
    listAll(client, machineComponentSet, call),
  ])
  const declaring = declaringSets(sets)
  const skipped = new Set(
    sets.filter(isObserved).flatMap(({ status }) => (status?.skipped ?? []).map((s) => s.machine)),
  )
  return {
    total: machines.length,
    notReady: machines.filter((m) => !isReady(m)).map(uidOf),
    inconsistent: machines.filter((m) => !isConsistent(m, declaring)).map(uidOf),
    skipped: machines.filter(({ metadata }) => skipped.has(metadata.name ?? '')).map(uidOf),
  }
}

/** What its controller skipped for an earlier declaration says nothing about this one. */
const isObserved = ({ metadata, status }: MachineComponentSet): boolean =>
  status?.observedGeneration === metadata.generation

const uidOf = ({ metadata }: Machine): string => metadata.uid ?? ''

function repairOf({ metadata, spec }: RemedyOperationJob): NonNullable<ClusterReadings['repairs']> {
  const at = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(at)
    ? []
    : [{ at, names: [spec.node.name, ...(spec.machine === undefined ? [] : [spec.machine])] }]
}

/** Phases in which a machine is being changed and recovers by itself. */
const IN_CHANGE: ReadonlySet<string> = new Set(['Updating', 'Draining'])

/** For the baseline. A value that cannot be read is not known to have failed before. */
export async function failingMachines(
  { program: client }: ClusterConnection,
  signal: AbortSignal | undefined,
): Promise<readonly KnownFailure[]> {
  const call = signal === undefined ? {} : { signal }
  const machines = await listAll(client, machine, call).catch(() => [])
  return machines.flatMap((m): readonly KnownFailure[] => {
    // By its orders: what was not ordered yet has not failed before.
    const [ready, consistent] = [isReady(m), isConsistent(m, [])]
    if (ready && consistent) return []
    const name = m.metadata.name ?? ''
    return [
      {
        object: `${machine.kind}.${machine.group}/${name}`,
        uid: uidOf(m),
        part: machinePart(name),
        state: IN_CHANGE.has(m.status?.phase ?? '') ? 'InProgress' : 'Failed',
        reason: ready ? INCONSISTENT : NOT_READY,
      },
    ]
  })
}

const isReady = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true || status?.phase === 'Ready'
