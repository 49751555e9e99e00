// Reads and checks a permit right before a disruption. Only the phase set by the Defender counts for expiry: clocks of nodes may be wrong.
import { messageOf } from '#lib/errors.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { whyNotAllowed } from '#api/protocol/permit-allows.ts'
import type { KubeClient } from '#kube/client.ts'
import { operationPermit, type Disruption, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { PermitReading } from './components/permit-reading.ts'

export interface PermitUse {
  /** The permit must list every one of these. Empty for work that disrupts nothing: then any permit granted to this node is enough. */
  readonly operations: readonly Disruption[]
  /** UIDs under which a permit may name this node: of the Machine, of the Node. */
  readonly targets: readonly string[]
  /** The version that a switch would install. */
  readonly target?: ComponentTarget
}

export function judgePermit(permit: OperationPermit | undefined, name: string, use: PermitUse): PermitReading {
  const { operations, targets, target: component } = use
  const each = operations.length === 0 ? [[]] : operations.map((operation) => [operation])
  const why = each
    .map((one) => whyNotAllowed(permit, { operations: one, targets, component }))
    .find((w) => w !== undefined)
  if (why !== undefined) return { kind: 'NotGranted', permit: name, why }
  return { kind: 'Granted', permit: name, ...(operations.includes('Reboot') && { forReboot: true }) }
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

/** An answer that took longer is out of date. */
const READ_MS = 5_000
