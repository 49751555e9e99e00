// The console's port to a fleet repository, provided at its start. Fleet code runs in the cage, never in the console.
import type { KubeClient } from '#kube/client.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { CertainPlan, Part, PredictedPlan } from '../plan.ts'
import type { ChangeRequest, PreparedCommit, PushedCommit, PushRequest } from '../prepared.ts'

export interface RepositoryPlanRequest {
  /** As typed: a branch, or the start of an id. */
  readonly commit: string
  readonly base: string | undefined
  /** By cluster, with the user's rights: predicts from the current state. */
  readonly clients: ReadonlyMap<string, KubeClient> | undefined
}

export interface RepositoryPlan {
  readonly certain: CertainPlan
  readonly predicted: Part<PredictedPlan>
}

export interface PrepareRequest {
  /** Name of the user. Other users cannot push the commit. */
  readonly person: string
  readonly source: FleetSource
  readonly change: ChangeRequest
  readonly author: string
  readonly email: string
  readonly reason: string
  /** For the change's cluster, with the user's rights. */
  readonly client: KubeClient
}

export interface PreparedPrediction {
  readonly id: string
  readonly person: string
  /** By cluster, with the user's rights. */
  readonly clients: ReadonlyMap<string, KubeClient>
}

export interface FleetRepository {
  /** Its place, for display. */
  readonly name: string
  /** Throws a KubeNodeError with the reason if there is no plan. */
  plan(asked: RepositoryPlanRequest): Promise<RepositoryPlan>
  /** Creates a commit without writing it anywhere. */
  prepare(asked: PrepareRequest): Promise<PreparedCommit>
  /** Predicts what a commit prepared by this user does, by the current state of these clusters. */
  predict(asked: PreparedPrediction): Promise<Part<PredictedPlan>>
  /** Writes a commit prepared by this user to a branch. The token is used for this push only and not kept. */
  push(asked: PushRequest, person: string): Promise<PushedCommit>
}
