// A permit's phase according to its status. A permit that the Defender has not processed yet is Requested.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { PermitPhase } from '#api/protocol/permit.ts'

export const phaseOf = ({ status }: Pick<OperationPermit, 'status'>): PermitPhase => status?.phase ?? 'Requested'

/** It has not ended. */
export const isOpen = (permit: Pick<OperationPermit, 'status'>): boolean =>
  phaseOf(permit) === 'Requested' || phaseOf(permit) === 'Granted'
