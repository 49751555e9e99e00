// What people requested about a running repair: that it ends, or that nothing new starts.
import { type HoldQuestion, holdOver, named, holdTarget, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import type { Seen } from './seen.ts'

/** A deleted or unknown machine or node is held by its name. */
function touched({ job, machine, node, remedier, machineSets }: Seen): HoldQuestion['targets'] {
  const { machine: machineName, node: nodeRef } = job.spec
  return [
    holdTarget('RemedyOperationJob', job),
    ...(remedier === undefined ? [] : [holdTarget('NodeRemedier', remedier)]),
    ...(machine !== undefined
      ? holdTargetsOfMachine(machine, { node, machineSet: (name) => machineSets?.get(name) })
      : machineName === undefined
        ? []
        : [named('Machine', machineName)]),
    node === undefined ? named('Node', nodeRef.name) : holdTarget('Node', node),
  ]
}

const question = (seen: Seen, effects: HoldQuestion['effects'], now: number): HoldQuestion => ({
  effects,
  targets: touched(seen),
  cluster: { name: undefined },
  now,
})

/** Why it should end. Started steps finish first. */
export function unwanted(seen: Seen, now: number): string | undefined {
  const abort = holdOver(seen.holds, question(seen, ['Abort'], now))
  if (abort !== undefined) return `hold ${abort.metadata.name}: ${abort.spec.reason}`
  return seen.job.metadata.deletionTimestamp === undefined ? undefined : 'the job was deleted'
}

/** The hold that blocks new steps. A freeze also revokes the permit. */
export function heldBy(seen: Seen, now: number): Held | undefined {
  const hold = holdOver(seen.holds, question(seen, ['Pause', 'Freeze'], now))
  return hold && { hold: hold.metadata.name ?? '', text: `hold ${hold.metadata.name}: ${hold.spec.reason}` }
}

export interface Held {
  readonly hold: string
  readonly text: string
}
