// Whether the recoveries of a set are exempt from budgets. Sync records this in the Inventory that lists the set, while it reverts to a healthy
// version and the pipeline exempts reverts by name. Nothing in the permit is trusted. Pure.
import { API_GROUP } from '#api/kind.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

/** After this the exemption ends, even if a release takes longer or a sync stopped before it removed the record. */
const BELIEVED_FOR_MS = 24 * 3_600_000

export function isBudgetExempt(
  { spec: { requester } }: Pick<OperationPermit, 'spec'>,
  shards: readonly Pick<Inventory, 'spec'>[],
  { setNamed, now }: { readonly setNamed: (name: string) => MachineComponentSet | undefined; readonly now: number },
): boolean {
  if (requester.kind !== 'MachineComponentSet' || requester.name === undefined) return false
  const set = setNamed(requester.name)
  if (set === undefined || (requester.uid !== undefined && requester.uid !== set.metadata.uid)) return false
  const { name, uid } = set.metadata
  return shards.some(
    ({ spec }) =>
      spec.exemptRecoveries?.includes('Budget') === true &&
      Math.abs(now - Date.parse(spec.appliedAt ?? '')) < BELIEVED_FOR_MS &&
      spec.refs.some(
        (ref) => ref.group === API_GROUP && ref.kind === requester.kind && ref.name === name && ref.uid === uid,
      ),
  )
}
