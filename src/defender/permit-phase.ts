// Where a permit stands, as its status says: one that the Defender has not seen yet is requested.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { PermitPhase } from '#api/protocol/permit.ts'

export const phaseOf = ({ status }: Pick<OperationPermit, 'status'>): PermitPhase => status?.phase ?? 'Requested'

/** Something may still become of it. */
export const isOpen = (permit: Pick<OperationPermit, 'status'>): boolean =>
  phaseOf(permit) === 'Requested' || phaseOf(permit) === 'Granted'
