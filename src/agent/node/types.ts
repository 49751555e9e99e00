// The built-in kinds that the agent writes, in addition to KubeNode's own.
import { coreKind } from '#kube/core-kinds.ts'

export const nodeType = coreKind('Node')

export const leaseType = coreKind('Lease')
