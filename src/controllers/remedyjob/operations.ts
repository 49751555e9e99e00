// What the job controller knows of each operation: who does it, what disruption the Defender is asked for, and what cannot be done yet.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { OPERATIONS, type OperationName } from '#api/kinds/operations.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'

export type Operation = RemedyOperationJob['spec']['operations'][number]

interface Known {
  readonly executor: 'Agent' | 'Controller'
  /** Empty: it takes nothing away from anybody. */
  readonly disruptions: readonly Disruption[]
}

const agent = (...disruptions: readonly Disruption[]): Known => ({ executor: 'Agent', disruptions })
const central = (...disruptions: readonly Disruption[]): Known => ({ executor: 'Controller', disruptions })

const KNOWN: Readonly<Record<OperationName, Known>> = {
  collectEvidence: agent(),
  restartComponent: agent('RestartComponent'),
  reinstallComponent: agent('ReinstallComponent'),
  cleanDisk: agent('CleanDisk'),
  runScript: agent('RunScript'),
  reboot: agent('Reboot'),
  cordon: central('Cordon'),
  drain: central('Drain'),
  uncordon: central(),
  fence: central('Fence'),
  // The machine controller, which takes the machine out of service, goes on under the same permit.
  replace: central('Replace', 'ScaleIn'),
  webhook: central(),
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
    if (known === undefined) return 'an operation is not supported by this version'
    if (known.executor === 'Agent' && spec.machine === undefined)
      return `${operationName(operation)} needs an agent, and the node belongs to no Machine`
  }
  const [last] = spec.operations.slice(-1)
  if (spec.operations.some((o) => o.replace !== undefined) && last?.replace === undefined)
    return 'replace must be the last operation: the node no longer exists after it'
  if (last?.replace !== undefined && spec.machine === undefined) return 'only a Machine can be replaced'
  return undefined
}

/** What is asked of the Defender. A job that takes nothing away asks for the mildest, so that every repair is seen and can be stopped in one place. */
export function disruptionsOf({ spec }: RemedyOperationJob): readonly Disruption[] {
  const wanted = spec.operations.flatMap((o) => knownOf(o)?.disruptions ?? [])
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
