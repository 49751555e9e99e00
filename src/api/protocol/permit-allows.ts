// Whether a permit allows an act right now: the one rule for agents, controllers and sync. The Defender's phase is the only expiry, since clocks differ. Pure.
import type { Disruption, OperationPermit } from '../kinds/operation-permit.ts'
import { type ComponentTarget, coversTarget, readPermitTarget } from './component-order.ts'

export interface PermittedAct {
  /** The permit must be for one of them; none: the act disrupts nothing, and any permit for the target will do. */
  readonly operations: readonly Disruption[]
  /** UIDs under which the target may be named: a host is a Machine and a Node. */
  readonly targets: readonly string[]
  /** What a switch would bring about. */
  readonly component?: ComponentTarget | undefined
}

/** Why it does not; undefined: it does. A permit that is not there allows nothing. */
export function whyNotAllowed(permit: OperationPermit | undefined, act: PermittedAct): string | undefined {
  if (permit === undefined) return 'not found'
  if (permit.metadata.deletionTimestamp !== undefined) return 'being deleted'
  const { spec, status } = permit
  const phase = status?.phase ?? 'Requested'
  if (phase !== 'Granted') return `phase ${phase}`
  if (act.operations.length > 0 && !act.operations.some((o) => spec.operations.includes(o)))
    return `not for operation ${act.operations.join(' or ')}`
  if (act.component !== undefined && spec.component !== undefined && !coversTarget(spec.component, act.component))
    return `granted for ${shown(readPermitTarget(spec.component))}`
  const target = spec.targets.find((t) => act.targets.includes(t.uid))
  if (target === undefined) return 'the target is not one of its targets'
  const { results = {} } = spec
  if (Object.hasOwn(results, target.uid)) return `result for the target already reported: ${results[target.uid]}`
  const verdict = status?.verdicts?.find((v) => v.target === target.uid)
  return verdict?.verdict === 'Granted' ? undefined : `the verdict for the target is ${verdict?.verdict ?? 'missing'}`
}

const shown = ({ name, version, config }: ComponentTarget): string => {
  if (version === undefined) return `the removal of ${name}`
  return config === undefined ? `${name} ${version}` : `${name} ${version} with configuration ${config}`
}
