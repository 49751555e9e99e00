// Reads a permit right before something is disrupted, and judges it. The Defender's phase is the only expiry: clocks of nodes may be wrong.
import { messageOf } from '#lib/errors.ts'
import { type ComponentTarget, coversTarget, readPermitTarget } from '#api/protocol/component-order.ts'
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
  const no = (why: string): PermitReading => ({ kind: 'NotGranted', permit: name, why })
  if (permit === undefined) return no('not found')
  if (permit.metadata.deletionTimestamp !== undefined) return no('being deleted')
  const phase = permit.status?.phase ?? 'Requested'
  if (phase !== 'Granted') return no(`phase ${phase}`)
  const { spec, status } = permit
  if (use.operation !== undefined && !spec.operations.includes(use.operation))
    return no(`not for operation ${use.operation}`)
  if (use.target !== undefined && spec.component !== undefined && !coversTarget(spec.component, use.target))
    return no(`granted for ${shown(readPermitTarget(spec.component))}`)
  const target = spec.targets.find((t) => use.targets.includes(t.uid))
  if (target === undefined) return no('this machine is not one of its targets')
  if (spec.results?.[target.uid] !== undefined)
    return no(`result for this machine already reported: ${spec.results[target.uid]}`)
  const verdict = status?.verdicts?.find((v) => v.target === target.uid)
  return verdict?.verdict === 'Granted'
    ? { kind: 'Granted', permit: name }
    : no(`the verdict for this machine is ${verdict?.verdict ?? 'missing'}`)
}

const shown = ({ name, version, config }: ComponentTarget): string => {
  if (version === undefined) return `the removal of ${name}`
  return config === undefined ? `${name} ${version}` : `${name} ${version} with configuration ${config}`
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
