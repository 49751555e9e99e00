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

/** A permit that was written past the schema may name no operation at all, and allows none then. */
export const operationsOf = ({ spec }: OperationPermit): OperationPermit['spec']['operations'] =>
  (spec as Partial<OperationPermit['spec']>).operations ?? []

/** `Undecided` may become `Granted` yet; `Ended` never will, and another permit is needed. */
export type PermitRuling = { readonly kind: 'Granted' } | { readonly kind: 'Undecided' | 'Ended'; readonly why: string }

export function rulingOn(permit: OperationPermit, { operations, targets, component }: PermittedAct): PermitRuling {
  const { spec, status, metadata } = permit
  const { phase = 'Requested', verdicts = [] } = status ?? {}
  const permitted = operationsOf(permit)
  const { results = {} } = spec
  const ended = (why: string): PermitRuling => ({ kind: 'Ended', why })
  if (metadata.deletionTimestamp !== undefined) return ended('the permit is being deleted')
  if (phase !== 'Requested' && phase !== 'Granted') return ended(`the permit is ${phase}`)
  if (operations.length > 0 && !operations.some((o) => permitted.includes(o)))
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

/** Why it does not; undefined: it does. A permit that is not there allows nothing. */
export function whyNotAllowed(permit: OperationPermit | undefined, act: PermittedAct): string | undefined {
  if (permit === undefined) return 'not found'
  const ruling = rulingOn(permit, act)
  return ruling.kind === 'Granted' ? undefined : ruling.why
}

export const NOT_DECIDED = 'the Defender has not decided yet'

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

/** One gate's message. A rate includes its usage and when it frees. */
export const verdictText = ({ gate, verdict, seen, limit }: Verdict): string =>
  gate === 'Rate' && seen !== undefined && verdict === 'Waiting'
    ? `rate limit: ${seen}`
    : `gate ${gate}: ${seen ?? verdict}${limit === undefined ? '' : ` (${limit})`}`

const shown = ({ name, version, config }: ComponentTarget): string => {
  if (version === undefined) return `the removal of ${name}`
  return config === undefined ? `${name} ${version}` : `${name} ${version} with configuration ${config}`
}
