// The status of a set after the server rejected an action: the previous status, and why the rollout does not continue. Pure.
import { setConditions } from '#kube/conditions.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { SetAction } from '../actions.ts'
import type { Status } from '../seen.ts'
import { waitingSince } from './wait.ts'

export interface Refusal {
  readonly action: SetAction
  readonly message: string
}

/** Slices and generation stay: others rely on them, and the planned actions did not happen. */
export function refusedStatus({ status = {} }: MachineComponentSet, { action, message }: Refusal, now: number): Status {
  const wait = {
    predicate: 'ReconcileFailed',
    seen: `${NAMES[action.kind]}: ${message}`,
    unblock:
      'a person corrects RBAC, admission policies or quotas, so that the API server accepts the write: kubenode check',
  } as const
  const waitingFor = waitingSince(status.waitingFor, wait, now)
  const cause = { reason: wait.predicate, message: waitingFor.seen ?? '' }
  const observed = status.observedGeneration === undefined ? {} : { observedGeneration: status.observedGeneration }
  const wanted = [
    { type: 'Ready', status: 'False' as const, ...cause, ...observed },
    { type: 'Reconciling', status: 'True' as const, ...cause, ...observed },
  ]
  return { ...status, waitingFor, conditions: setConditions(status.conditions, wanted, now) }
}

const NAMES: Readonly<Record<SetAction['kind'], string>> = {
  CreateRevision: 'cannot record the revision',
  RenumberRevision: 'cannot renumber the revision that is declared again',
  KeepEvidence: 'cannot record the failure',
  KeepCompleted: 'cannot record the completed versions',
  DeleteRevision: 'cannot delete an old revision',
  CreateConfig: 'cannot create a configuration',
  RequestPermit: 'cannot request a permit',
  RenewPermit: 'cannot renew a permit',
  Report: 'cannot report results',
  StartProbePod: 'cannot start the inspection pod',
  EndProbePod: 'cannot delete the inspection pod',
}
