// What a job as a whole requires: its executors, the Defender's permission, and whether it can be done at all.
import type { Machine } from '#api/kinds/machine.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { OperationName } from '#api/kinds/operations.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { type Operation, operationFacts, operationName } from '#api/protocol/operations.ts'

/** Why the job can never be done as it is. Undefined if it can. */
export function unsupportedReason({ spec }: RemedyOperationJob, machine: Machine | undefined): string | undefined {
  for (const operation of spec.operations) {
    const known = operationFacts(operation)
    if (known === undefined) return 'an operation is not supported by this version'
    if (known.executor === 'Agent' && spec.machine === undefined)
      return `${operationName(operation)} needs an agent, and the node belongs to no Machine`
    if (OF_AGENTS.has(operationName(operation)) && machine?.spec.channel === 'SSH')
      return `${operationName(operation)} needs an agent, and the machine is managed over SSH`
  }
  const { operations } = spec
  const taking = operations.findIndex((o) => operationFacts(o)?.takesNode === true)
  const name = taking < 0 ? undefined : operationName(operations[taking] ?? {})
  if (taking >= 0 && taking < operations.length - 1)
    return `${name} must be the last operation: the node no longer exists after it`
  if (taking >= 0 && spec.machine === undefined) return 'only a Machine can be replaced'
  return undefined
}

/** For a silent agent. */
const OF_AGENTS: ReadonlySet<OperationName | undefined> = new Set<OperationName>(['rescue', 'rescueReboot'])

/** The disruption to request. A job that disrupts nothing requests that, so that every repair is visible and can be stopped in one place. */
export function disruptionsOf({ spec }: RemedyOperationJob): readonly Disruption[] {
  const wanted = spec.operations.flatMap((o) => operationFacts(o)?.disruptions ?? [])
  return wanted.length === 0 ? ['NoDisruption'] : [...new Set(wanted)]
}

/** The component that it changes, if any. */
export function componentOf({
  spec,
}: RemedyOperationJob): { readonly name: string; readonly version?: string } | undefined {
  // A script that accepts the node changes no component.
  const names = new Set(spec.operations.flatMap((o, n) => (n === spec.acceptance ? [] : (componentIn(o) ?? []))))
  const [name] = names
  return name !== undefined && names.size === 1 ? { name } : undefined
}

function componentIn(operation: Operation): string | undefined {
  const name = operationName(operation)
  const wanted: { readonly component?: string } | undefined = name === undefined ? undefined : operation[name]
  return wanted?.component
}
