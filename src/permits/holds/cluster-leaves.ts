// The hold that the role cluster keeps in a cluster while its deletion waits for machines. Only that role may write it.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { CLUSTER_LEAVES } from '#api/names.ts'
import { isInForce } from './in-force.ts'

export const isClusterLeaving = (holds: readonly OperationalHold[], now: number): boolean =>
  holds.some((hold) => hold.metadata.name === CLUSTER_LEAVES && isLifting(hold) && isInForce(hold, now))

const isLifting = ({ spec: { effect, target } }: OperationalHold): boolean =>
  effect === 'Unprotect' && target.kind === 'Cluster'
