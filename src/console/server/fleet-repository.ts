// The port through which the console reaches a repository of the fleet. Who starts the console gives it: code of a fleet runs in the cage, never in the console.
import type { KubeClient } from '#kube/client.ts'
import type { CertainPlan, Part, PredictedPlan } from '../plan.ts'

export interface RepositoryPlanWish {
  /** As a person types it: a branch, or the beginning of an id. */
  readonly commit: string
  readonly base: string | undefined
  /** By cluster, with the rights of the person: predicts by what is there now. */
  readonly clients: ReadonlyMap<string, KubeClient> | undefined
}

export interface RepositoryPlan {
  readonly certain: CertainPlan
  readonly predicted: Part<PredictedPlan>
}

export interface FleetRepository {
  /** For people: where it is. */
  readonly name: string
  /** Throws a KubeNodeError that says why there is no plan. */
  plan(wish: RepositoryPlanWish): Promise<RepositoryPlan>
}
