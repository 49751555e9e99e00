// Whether a permit allows an action right now: the single rule for agents, controllers and sync. Only the Defender's phase expires a permit, since clocks
// differ. Pure.
import type { Disruption, OperationPermit } from '../kinds/operation-permit.ts'
import { type ComponentTarget, coversTarget, readPermitTarget } from './component-order.ts'

export interface PermittedAct {
  /** The permit must cover one of these; if empty, the action disrupts nothing, and any permit for the target is enough. */
  readonly operations: readonly Disruption[]
  /** UIDs that may identify the target: a host is a Machine and a Node. */
  readonly targets: readonly string[]
  /** The result of a switch. */
  readonly component?: ComponentTarget | undefined
}

/** A permit that bypassed the schema may name no operation at all; it then allows none. */
export const operationsOf = ({ spec }: OperationPermit): OperationPermit['spec']['operations'] =>
  (spec as Partial<OperationPermit['spec']>).operations ?? []

/** A permit under the same name may be of another program, for something else. */
export function isForAny(permit: OperationPermit, operations: readonly Disruption[]): boolean {
  const permitted = operationsOf(permit)
  return operations.some((o) => permitted.includes(o))
}

/** `Undecided` may still become `Granted`; `Ended` never will, and another permit is needed. */
export type PermitRuling = { readonly kind: 'Granted' } | { readonly kind: 'Undecided' | 'Ended'; readonly why: string }

export function rulingOn(permit: OperationPermit, { operations, targets, component }: PermittedAct): PermitRuling {
  const { spec, status, metadata } = permit
  const { phase = 'Requested', verdicts = [] } = status ?? {}
  const { results = {} } = spec
  const ended = (why: string): PermitRuling => ({ kind: 'Ended', why })
  if (metadata.deletionTimestamp !== undefined) return ended('the permit is being deleted')
  if (phase !== 'Requested' && phase !== 'Granted') return ended(`the permit is ${phase}`)
  if (operations.length > 0 && !isForAny(permit, operations))
    return ended(`not for operation ${operations.join(' or ')}`)
  if (component !== undefined && spec.component !== undefined && !coversTarget(spec.component, component))
    return ended(`granted for ${shown(readPermitTarget(spec.component))}`)
  const target = spec.targets.find((t) => targets.includes(t.uid))
  if (target === undefined) return ended('the permit is not for this target')
  if (Object.hasOwn(results, target.uid)) return ended(`the target already has result ${results[target.uid]}`)
  const verdict = verdicts.find((v) => v.target === target.uid)
  if (verdict?.verdict === 'Denied') return ended(`gate ${verdict.gate} denied the permit`)
  if (phase === 'Granted' && verdict?.verdict === 'Granted') return { kind: 'Granted' }
  return { kind: 'Undecided', why: verdict === undefined ? NOT_DECIDED : verdictText(verdict) }
}

/** Why the permit does not allow it; undefined if it does. A missing permit allows nothing. */
export function whyNotAllowed(permit: OperationPermit | undefined, act: PermittedAct): string | undefined {
  if (permit === undefined) return 'not found'
  const ruling = rulingOn(permit, act)
  return ruling.kind === 'Granted' ? undefined : ruling.why
}

export const NOT_DECIDED = 'the Defender has not decided yet'

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

/** One gate's message. For a rate, includes its usage and when it frees. */
export const verdictText = ({ gate, verdict, seen, limit }: Verdict): string =>
  gate === 'Rate' && seen !== undefined && verdict === 'Waiting'
    ? `rate limit: ${seen}`
    : `gate ${gate}: ${seen ?? verdict}${limit === undefined ? '' : ` (${limit})`}`

const shown = ({ name, version, config }: ComponentTarget): string => {
  if (version === undefined) return `the removal of ${name}`
  return config === undefined ? `${name} ${version}` : `${name} ${version} with configuration ${config}`
}
