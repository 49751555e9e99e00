// The order of every delivery: record what is about to be applied, apply it, delete what is no longer declared, record the outcome. So nothing
// applied is ever lost: a run that is killed between any two steps leaves an Inventory from which the next one continues.
import { type Outcomes, refsAfter, refsBefore } from './inventory.ts'
import { type InventoryRef, refText } from './object-ref.ts'
import { type Delete, isDelete } from './operation.ts'
import type { ClusterPlan } from './plan.ts'

/** The effects of one delivery. A `Failure` from `record` or `apply` ends it, and so does an exception. */
export interface DeliverySteps<Failure> {
  record(refs: readonly InventoryRef[], when: 'Before' | 'After'): Promise<Failure | undefined>
  /** Applies everything declared. After a failure nothing is deleted, and the entries stay for the next run. */
  apply(): Promise<Failure | undefined>
  /** The applied objects. Read after `apply` has finished. */
  applied(): Outcomes['applied']
  /** True once nothing of the object needs to be recorded. */
  remove(operation: Delete): Promise<boolean>
}

export async function carryOut<Failure>(
  plan: ClusterPlan,
  inventory: readonly InventoryRef[],
  steps: DeliverySteps<Failure>,
): Promise<Failure | undefined> {
  const failure = (await steps.record(refsBefore(inventory, plan), 'Before')) ?? (await steps.apply())
  if (failure !== undefined) return failure
  const pruned = new Set<string>()
  // One after another: dependents are deleted first.
  for (const operation of plan.operations.filter(isDelete))
    if (await steps.remove(operation)) pruned.add(refText(operation.ref))
  return steps.record(refsAfter(inventory, plan, { applied: steps.applied(), pruned }), 'After')
}
