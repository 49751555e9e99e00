// What a change is prepared from, and what it becomes. Types only.
import type { KubeClient } from '#kube/client.ts'
import type { MadePlan } from '#forecast/plan/make-plan.ts'
import type { MachineEffect } from '../prepared.ts'
import type { Edit } from './edit.ts'

export interface Prepared {
  readonly edits: readonly Edit[]
  readonly made: MadePlan
  readonly subject: string
  readonly branch: string
  /** What happens to each machine, where the change is about machines. */
  readonly machines?: readonly MachineEffect[]
}

export interface Trying {
  readonly base: string
  readonly reason: string
  readonly files: ReadonlyMap<string, string>
  /** The plan of these edits on top of the base. */
  readonly planOf: (edits: readonly Edit[]) => Promise<MadePlan>
  readonly client: KubeClient
}
