// The status of a set whose action the server does not take: the previous status, and why the rollout does not continue. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { refusedStatus } from '#runtime/refused-write.ts'
import type { SetAction } from '../actions.ts'
import type { Status } from '../seen.ts'

export interface Refusal {
  readonly action: SetAction
  readonly message: string
}

export function rejectedStatus(
  { status = {} }: MachineComponentSet,
  { action, message }: Refusal,
  now: number,
): Status {
  const refused = refusedStatus(status, `${NAMES[action.kind]}: ${message}`, now)
  // Complete was about the spec before: readers of the phase would look no further.
  return status.phase === 'Complete' ? { ...refused, phase: 'Progressing' } : refused
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
