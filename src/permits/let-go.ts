// Frees the slots of machines under a permit. Each machine is read again, and released first if an order under the permit could still arrive.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { isLetGo, withLetGo } from '#api/protocol/let-go.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { type PermitTools, type TargetResult, reportResults } from './permits.ts'
import { defined } from '#lib/defined.ts'

/** The result of one machine under a permit. */
export interface MachineResult {
  readonly machine: string
  readonly uid: string
  readonly result: TargetResult
}

/** How the current state of a machine changes its result. */
export type Confirmed = 'No' | 'Yes' | 'OnceLetGo'

export type Reported = WriteOutcome<unknown> | { readonly kind: 'Outdated'; readonly reason: string }

/** Writes only the version of the permit behind the decision. If the permit changed since, decide again. */
export async function reportConfirmed<P extends MachineResult>(
  tools: PermitTools,
  permit: OperationPermit,
  parts: readonly P[],
  confirm: (fresh: Machine, part: P) => Confirmed,
): Promise<Reported> {
  const are = await Promise.all(parts.map((part) => mayBeFreed(tools, permit, part, confirm)))
  const free = parts.filter((_, i) => are[i])
  if (free.length === 0) return { kind: 'Outdated', reason: 'all machines changed since the decision' }
  const outcome = await reportResults(tools, permit, Object.fromEntries(free.map((p) => [p.uid, p.result])))
  if (outcome.kind !== 'Applied' || free.length === parts.length) return outcome
  return { kind: 'Outdated', reason: 'some machines changed since the decision' }
}

async function mayBeFreed<P extends MachineResult>(
  { client, fieldManager, signal }: PermitTools,
  permit: OperationPermit,
  part: P,
  confirm: (fresh: Machine, part: P) => Confirmed,
): Promise<boolean> {
  const fresh = await client.get(machineType, { name: part.machine }, signal && { signal })
  if (fresh === undefined || fresh.metadata.uid !== part.uid) return part.result === 'Released'
  const confirmed = confirm(fresh, part)
  if (confirmed !== 'OnceLetGo') return confirmed === 'Yes'
  const { uid = '' } = permit.metadata
  if (isLetGo(fresh, uid)) return true
  const options = { fieldManager, ...defined({ signal }) }
  return (await updateExactly(client, machineType, withLetGo(fresh, uid), options)).kind === 'Applied'
}
