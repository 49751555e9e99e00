// What the job controller knows of each operation: who does it, what disruption the Defender is asked for, and what cannot be done yet.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { OPERATIONS, type OperationName } from '#api/kinds/operations.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'

export type Operation = RemedyOperationJob['spec']['operations'][number]

interface Known {
  readonly executor: 'Agent' | 'Controller'
  /** Absent: it takes nothing away from anybody. */
  readonly disruption?: Disruption
  /** Why a job with it ends before it begins. */
  readonly unsupported?: string
}

const KNOWN: Readonly<Record<OperationName, Known>> = {
  collectEvidence: { executor: 'Agent' },
  restartComponent: { executor: 'Agent', disruption: 'RestartComponent' },
  reinstallComponent: { executor: 'Agent', disruption: 'ReinstallComponent' },
  cleanDisk: { executor: 'Agent', disruption: 'CleanDisk' },
  runScript: { executor: 'Agent', disruption: 'RunScript' },
  reboot: { executor: 'Agent', disruption: 'Reboot' },
  cordon: { executor: 'Controller', disruption: 'Cordon' },
  drain: { executor: 'Controller', disruption: 'Drain' },
  uncordon: { executor: 'Controller' },
  fence: {
    executor: 'Controller',
    disruption: 'Fence',
    unsupported: 'fence is not done yet: the provider must first say that the machine is off',
  },
  replace: {
    executor: 'Controller',
    disruption: 'Replace',
    unsupported: 'replace is not done yet: delete the Machine by hand',
  },
  webhook: {
    executor: 'Controller',
    unsupported: 'webhook is not done yet: no place is configured that may be reached',
  },
}

export const operationName = (operation: Operation): OperationName | undefined =>
  OPERATIONS.find((name) => operation[name] !== undefined)

export const knownOf = (operation: Operation): Known | undefined => {
  const name = operationName(operation)
  return name === undefined ? undefined : KNOWN[name]
}

export const executorOf = (operation: Operation): 'Agent' | 'Controller' => knownOf(operation)?.executor ?? 'Controller'

/** Why the job can never be done as it is; undefined when it can. */
export function unsupportedReason({ spec }: RemedyOperationJob): string | undefined {
  for (const operation of spec.operations) {
    const known = knownOf(operation)
    if (known === undefined) return 'an operation is not known to this version'
    if (known.unsupported !== undefined) return known.unsupported
    if (known.executor === 'Agent' && spec.machine === undefined)
      return `${operationName(operation)} needs an agent, and the node belongs to no Machine`
  }
  return undefined
}

/** What is asked of the Defender. A job that takes nothing away asks for the mildest, so that every repair is seen and can be stopped in one place. */
export function disruptionsOf({ spec }: RemedyOperationJob): readonly Disruption[] {
  const wanted = spec.operations.flatMap((o) => knownOf(o)?.disruption ?? [])
  return wanted.length === 0 ? ['Cordon'] : [...new Set(wanted)]
}

/** The component that is touched, where it is one. */
export function componentOf({
  spec,
}: RemedyOperationJob): { readonly name: string; readonly version?: string } | undefined {
  const names = new Set(
    spec.operations.flatMap(
      (o) => o.restartComponent?.component ?? o.reinstallComponent?.component ?? o.runScript?.component ?? [],
    ),
  )
  const [name] = names
  return name !== undefined && names.size === 1 ? { name } : undefined
}
