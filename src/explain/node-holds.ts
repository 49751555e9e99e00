// Holds that block repairs and rollouts on a Node. KubeNode sets no condition on a Node for this. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { endOfHold } from '#permits/holds/names.ts'
import { holdsOver, thing, thingsOfMachine } from '#permits/holds/reach.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Finding } from './finding.ts'
import { continues } from './wait.ts'

export interface HeldNode {
  readonly node: KubeObject
  readonly machine: Machine | undefined
}

/** Holds on the Node itself, its Machine, the MachineSet and the cluster. */
export function nodeHolds(
  { node, machine }: HeldNode,
  holds: readonly OperationalHold[],
  now: number,
): readonly Finding[] {
  const things = machine === undefined ? [thing('Node', node)] : thingsOfMachine(machine, { node })
  const over = holdsOver(holds, { effects: ['Pause', 'Freeze'], things, cluster: { name: undefined }, now })
  return over.map((hold) => {
    const { effect, author, reason, until } = hold.spec
    return {
      text: `${effect === 'Freeze' ? 'Frozen' : 'Paused'} until ${until} by ${author}: ${reason}`,
      urgency: 'Waiting',
      cause: `operationalhold/${hold.metadata.name ?? ''}`,
      ...continues(endOfHold(hold)),
    }
  })
}
