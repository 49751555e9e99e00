// The port through which the console reaches a repository of the fleet. Who starts the console gives it: code of a fleet runs in the cage, never in the console.
import type { KubeClient } from '#kube/client.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { CertainPlan, Part, PredictedPlan } from '../plan.ts'
import type { ChangeRequest, PreparedCommit, PushedCommit, PushRequest } from '../prepared.ts'

export interface RepositoryPlanRequest {
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

export interface PrepareRequest {
  /** Name of the person who asks. Other people cannot push the commit. */
  readonly person: string
  readonly source: FleetSource
  readonly change: ChangeRequest
  readonly author: string
  readonly email: string
  readonly reason: string
  /** Of the cluster of the change, with the rights of the person. */
  readonly client: KubeClient
}

export interface FleetRepository {
  /** For people: where it is. */
  readonly name: string
  /** Throws a KubeNodeError that says why there is no plan. */
  plan(asked: RepositoryPlanRequest): Promise<RepositoryPlan>
  /** Makes a commit and writes it nowhere. */
  prepare(asked: PrepareRequest): Promise<PreparedCommit>
  /** Writes a commit that this person prepared to a branch. The token is used for this one push and kept nowhere. */
  push(asked: PushRequest, person: string): Promise<PushedCommit>
}
