// Reads the values that gates check: machines, their components, and repairs. An unreadable value is absent, never zero.
import type { KnownFailure } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { INCONSISTENT, machinePart, NOT_READY } from '../release/baseline.ts'
import type { ClusterReadings } from '../release/gates.ts'
import { listAll } from '#kube/list-all.ts'
import type { ClusterConnection } from '#delivery/connection.ts'

export interface ReadingNeeds {
  readonly machines: boolean
  readonly repairs: boolean
}

export async function readingsOf(
  { program: client }: ClusterConnection,
  needs: ReadingNeeds,
  signal: AbortSignal | undefined,
): Promise<ClusterReadings> {
  const call = signal === undefined ? {} : { signal }
  const machines = needs.machines ? await listAll(client, machine, call).catch(() => undefined) : undefined
  const sets = needs.machines ? await listAll(client, machineComponentSet, call).catch(() => []) : []
  const jobs = needs.repairs ? await listAll(client, remedyOperationJob, call).catch(() => undefined) : undefined
  return {
    ...(machines === undefined
      ? {}
      : {
          machines: {
            total: machines.length,
            notReady: machines.filter((m) => !isReady(m)).map(uidOf),
            inconsistent: machines.filter((m) => !isConsistent(m)).map(uidOf),
            skipped: Math.max(0, ...sets.map((s) => s.status?.counts?.skipped ?? 0)),
          },
        }),
    ...(jobs === undefined ? {} : { repairs: jobs.flatMap(repairOf) }),
  }
}

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
    const [ready, consistent] = [isReady(m), isConsistent(m)]
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

/** The agent reports every desired component at its version and healthy. */
function isConsistent({ spec, status }: Machine): boolean {
  const reported = new Map((status?.components ?? []).map((c) => [c.name, c]))
  return (spec.components ?? []).every(({ name, version }) => {
    const found = reported.get(name)
    return found?.version === version && found.state === 'Healthy'
  })
}
