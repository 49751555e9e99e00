// Finds a machine's Node. Pure.
import type { Machine } from '#api/kinds/machine.ts'

export const nodeNameOf = (machine: Machine): string => machine.status?.nodeRef?.name ?? machine.metadata.name ?? ''

/** Only read: controllers neither create, change nor delete it. */
export const isObserved = ({ spec }: Machine): boolean => spec.channel === 'Observe'
