// What each Defender gate means to a user whose repair it blocks, and the command that unblocks it. Pure.
import { type Blocker, type Cause, frozenByFile, heldBy, patch } from './blocker.ts'
import { verdictNote } from '../verdict.ts'
import type { RepairsSeen } from './observe.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

/** The smallest merge patch of a DefenderPolicy that permits one more operation at the blocking gate; undefined if another policy decided, or none of its limits can be raised. */
function policyPatch(verdict: Verdict, { metadata, spec }: DefenderPolicy): object | undefined {
  const { gate, field, generation, count } = verdict
  // A breaker has no limit to raise: the gate itself is the field.
  if (gate === 'Breaker') return { breaker: null }
  if (field === undefined || generation !== metadata.generation) return undefined
  const [, list = '', at = ''] = field.split('/')
  switch (list) {
    case 'windows':
    case 'blackouts':
      return { [list]: null }
    case 'healthFloor':
      return count === undefined ? undefined : { healthFloor: count }
    case 'budgets':
    case 'rates':
      return count === undefined ? undefined : raised(list, spec[list], Number(at), count + 1)
    case 'rules': {
      const rules = (spec.rules ?? []).filter((_, n) => n !== Number(at))
      return { rules: rules.length === 0 ? null : rules }
    }
    default:
      return undefined
  }
}

/** A merge patch replaces a list as a whole, so the other items are included unchanged. */
const raised = (field: string, list: readonly object[] = [], at: number, max: number): object => ({
  [field]: list.map((entry, n) => (n === at ? { ...entry, max } : entry)),
})

/** The built-in policy has no name: it stops applying when a user's policy decides. */
function raising(verdict: Verdict, { policies }: RepairsSeen): Pick<Blocker, 'command' | 'isDeclared'> {
  const policy = policies.find((p) => p.metadata.name === verdict.policy)
  const spec = policy && policyPatch(verdict, policy)
  return spec === undefined ? {} : { command: patch('defenderpolicies', verdict.policy ?? '', spec), isDeclared: true }
}

type GateRow = (verdict: Verdict, seen: RepairsSeen) => Cause

export const gateText = (verdict: Verdict): string => `gate ${verdict.gate} of the Defender: ${verdictNote(verdict)}`

/** Gates in the Defender's verdicts. */
export const OF_GATES: Readonly<Record<string, GateRow>> = {
  Hold: (v, seen) =>
    v.hold === undefined && seen.frozen !== undefined
      ? frozenByFile(seen)
      : { ...heldBy(v.hold, '', seen), text: gateText(v) },
  Protect: (v, seen) => ({
    id: 'Protected',
    text: gateText(v),
    command: `kubenode repair node/${seen.node} --unprotect --reason "checked by hand"`,
  }),
  FleetStop: (v) => ({
    id: 'FleetStop',
    text: gateText(v),
    command: 'kubenode brake lift --reason "checked by hand"',
  }),
  FleetTurn: (v) => ({ id: 'FleetTurn', text: `${gateText(v)}; it continues when another cluster has finished` }),
  OwnPods: (v) => ({ id: 'OwnPods', text: `${gateText(v)}; it continues when that operation ends` }),
  Window: (v, seen) => ({
    id: 'Window',
    text: `${gateText(v)}; it continues by itself then`,
    ...raising(v, seen),
  }),
  HealthFloor: (v, seen) =>
    v.reason === 'SafetyReadingUnknown'
      ? { id: 'MassSilence', text: `${gateText(v)}; it continues when they report again` }
      : { id: 'HealthFloor', text: gateText(v), ...raising(v, seen) },
  Budget: (v, seen) => ({
    id: 'Budget',
    text: `${gateText(v)}; it continues when others end`,
    ...raising(v, seen),
  }),
  Rate: (v, seen) => ({
    id: 'Rate',
    text: `${gateText(v)}; it continues when the window has passed`,
    ...raising(v, seen),
  }),
  Breaker: (v, seen) => ({
    id: 'Breaker',
    text: `${gateText(v)}; it lets one through to see after its pause`,
    ...raising(v, seen),
  }),
  Approval: (v, seen) => ({
    id: 'Approval',
    text: gateText(v),
    ...(seen.permit !== undefined && { command: `kubenode approve permit/${seen.permit.metadata.name}` }),
  }),
  Rule: (v, seen) => ({ id: 'PolicyRule', text: gateText(v), ...raising(v, seen) }),
  Blame: (v, seen) => {
    const set = seen.setRefs.get(v.component ?? '')
    const text = `${gateText(v)}; check what these nodes share first, single repairs are unlikely to help`
    return set === undefined
      ? { id: 'Blamed', text }
      : { id: 'Blamed', text, command: `kubenode rollout retry ${set} --reason "checked by hand"` }
  },
  Ledger: (v) => ({ id: 'Ledger', text: `${gateText(v)}; continues when granted permits end` }),
  Target: (v) => ({ id: 'TargetUnknown', text: gateText(v) }),
}
