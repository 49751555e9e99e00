// The actions of the cluster controller.
import type { Reason } from '#api/catalogue.ts'
import type { HostedProgram } from '#api/names.ts'
import type { Phase } from '#api/phases.ts'
import type { ControlPlaneRequest } from '#controlplanes/port.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { Authority } from '#permits/under-permit.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import type { Wait } from '#runtime/waiting.ts'

export type ClusterAction = PermitAction | ControlPlaneAction

type ControlPlaneAction = { readonly reason: string } & (
  | { readonly kind: 'AddFinalizer' | 'RemoveFinalizer' }
  /** The object itself. Its deletion then follows its own plan. */
  | { readonly kind: 'DeleteCluster' }
  | { readonly kind: 'WriteKubeconfig' | 'DeleteKubeconfig' }
  /** Of one program that the hub runs for the cluster, each with an identity of its own there. */
  | { readonly kind: 'WriteProgramKubeconfig' | 'DeleteProgramKubeconfig'; readonly program: HostedProgram }
  /** Deploys the programs into the cluster, or removes what was deployed. */
  | { readonly kind: 'DeployPrograms' | 'RemovePrograms' }
  | { readonly kind: 'Stop'; readonly by: Authority }
  | { readonly kind: 'ApplyAddons' }
  /** Delivers the addons that the Cluster names, and removes those it named before. */
  | { readonly kind: 'DeliverAddons' }
  | { readonly kind: 'Put'; readonly request: ControlPlaneRequest; readonly by: Authority }
  | { readonly kind: 'Snapshot'; readonly name: string }
  /** For the schedule. Nothing else waits for it. */
  | { readonly kind: 'ScheduledSnapshot'; readonly name: string }
  | { readonly kind: 'DropSnapshots'; readonly names: readonly string[] }
  | { readonly kind: 'Restore'; readonly snapshot: string; readonly token: string; readonly by: Authority }
  | { readonly kind: 'Defragment' | 'ReplaceMember'; readonly number: number; readonly by: Authority }
  /** Deletes the sets first: their controllers remove the machines in order. */
  | { readonly kind: 'RemoveMachines'; readonly by: Authority }
  | { readonly kind: 'Delete'; readonly keep?: string; readonly by: Authority }
)

export interface ClusterPlan extends Plan<ClusterAction> {
  readonly phase: Phase<'Cluster'>
  readonly wait: Wait<Reason> | undefined
}
