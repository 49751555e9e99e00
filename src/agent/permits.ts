// Reads a permit right before something is disrupted, and judges it. The Defender's phase is the only expiry: clocks of nodes may be wrong.
import { messageOf } from '#lib/errors.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { whyNotAllowed } from '#api/protocol/permit-allows.ts'
import type { KubeClient } from '#kube/client.ts'
import { operationPermit, type Disruption, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { PermitReading } from './components/plan.ts'

export interface PermitUse {
  /** Absent for operations that disrupt nothing: then any permit granted to this node will do. */
  readonly operation?: Disruption
  /** UIDs under which this node may be named: of the Machine, of the Node. */
  readonly targets: readonly string[]
  /** What a switch would bring about. */
  readonly target?: ComponentTarget
}

export function judgePermit(permit: OperationPermit | undefined, name: string, use: PermitUse): PermitReading {
  const { operation, targets, target: component } = use
  const why = whyNotAllowed(permit, { operations: operation === undefined ? [] : [operation], targets, component })
  return why === undefined ? { kind: 'Granted', permit: name } : { kind: 'NotGranted', permit: name, why }
}

/** Unknown when it cannot be read: unknown never disrupts. */
export async function readPermit(
  client: Pick<KubeClient, 'get'>,
  name: string,
  use: PermitUse,
): Promise<PermitReading> {
  try {
    return judgePermit(await client.get(operationPermit, { name }, { timeoutMs: READ_MS }), name, use)
  } catch (e) {
    return { kind: 'Unknown', permit: name, why: messageOf(e) }
  }
}

/** An answer that took longer says little about now. */
const READ_MS = 5_000
