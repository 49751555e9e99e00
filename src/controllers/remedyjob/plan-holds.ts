// What people say of a repair that is under way: it is not wanted any more, or nothing new may be begun.
import { type HoldQuestion, holdOver, named, thing, thingsOfMachine } from '#permits/holds/reach.ts'
import type { Seen } from './seen.ts'

/** A machine or node that was deleted, or is not known, is held by its name. */
function touched({ job, machine, node, remedier, machineSets }: Seen): HoldQuestion['things'] {
  const { machine: machineName, node: nodeRef } = job.spec
  return [
    thing('RemedyOperationJob', job),
    ...(remedier === undefined ? [] : [thing('NodeRemedier', remedier)]),
    ...(machine !== undefined
      ? thingsOfMachine(machine, { node, machineSet: (name) => machineSets?.get(name) })
      : machineName === undefined
        ? []
        : [named('Machine', machineName)]),
    node === undefined ? named('Node', nodeRef.name) : thing('Node', node),
  ]
}

const question = (seen: Seen, effects: HoldQuestion['effects'], now: number): HoldQuestion => ({
  effects,
  things: touched(seen),
  cluster: { name: undefined },
  now,
})

/** Why it should end; steps that began are finished first. */
export function unwanted(seen: Seen, now: number): string | undefined {
  const abort = holdOver(seen.holds, question(seen, ['Abort'], now))
  if (abort !== undefined) return `hold ${abort.metadata.name}: ${abort.spec.reason}`
  return seen.job.metadata.deletionTimestamp === undefined ? undefined : 'the job was deleted'
}

/** Which hold forbids to begin anything. A freeze takes the permit back besides. */
export function heldBy(seen: Seen, now: number): Held | undefined {
  const hold = holdOver(seen.holds, question(seen, ['Pause', 'Freeze'], now))
  return hold && { hold: hold.metadata.name ?? '', text: `hold ${hold.metadata.name}: ${hold.spec.reason}` }
}

export interface Held {
  readonly hold: string
  readonly text: string
}
