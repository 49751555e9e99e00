// Decides about one target of a permit: a gate blocks it, or it takes its slot. A grant counts only once the ledger was swapped.
import type { Disruption, OperationPermit } from '#api/kinds/operation-permit.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { maintenanceText, standsOff } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { REPAIRER } from './blame/failing.ts'
import { type CompiledPolicy, builtinPolicy } from './compile-policy.ts'
import type { Target } from './fleet.ts'
import { type GateVerdict, binding } from './gate.ts'
import { askGates, auditorsOf, policiesFor } from './gates.ts'
import { holdGate } from './gates/hold.ts'
import { seriesOf } from './gates/rate.ts'
import { targetGate } from './gates/target.ts'
import type { Grant } from './ledger.ts'
import type { GateContext, Question } from './question.ts'
import { deny, pass, wait } from './verdict-of.ts'
import type { Unit } from './unit.ts'
import { wayOf } from './ways-back.ts'

export interface TargetDecision {
  readonly target: string
  /** The binding verdict. `Granted` only once the slot is in the ledger. */
  readonly verdict: GateVerdict
  readonly gates: readonly GateVerdict[]
  /** The verdict of each deciding policy, and what policies in mode Audit would have decided. Absent: no policy was evaluated. */
  readonly judged?: readonly Judgement[]
}

interface Judgement {
  readonly policy: string
  readonly verdict: GateVerdict['verdict']
}

export function decideTarget(
  permit: OperationPermit,
  target: Target,
  context: GateContext,
  { before: written, isEnding }: { readonly before: Written; readonly isEnding: boolean },
): TargetDecision {
  const { snapshot, ledger } = context
  const uid = permit.metadata.uid ?? ''
  const decided = (verdict: GateVerdict, gates: readonly GateVerdict[]): TargetDecision => ({
    target: target.uid,
    verdict,
    gates,
  })
  const before = written.verdicts.get(target.uid)
  if (permit.spec.results?.[target.uid] !== undefined && before !== undefined)
    return { target: target.uid, verdict: asGate(before), gates: keptGates(written, target) }
  const slot = ledger.grantOf(target.uid, uid)
  // The gates' verdicts while it waited are not the reason for the grant.
  if (slot?.state === 'Held')
    return decided(held(permit, slot), before?.verdict === 'Granted' ? keptGates(written, target) : [])
  if (slot !== undefined)
    return decided(
      wait('Ledger', { reason: 'PermitExpired', seen: 'the requester stopped renewing; its slot is orphaned' }),
      [],
    )
  if (permit.spec.results?.[target.uid] !== undefined)
    return decided(wait('Target', { reason: 'PermitRequested', seen: 'withdrawn before it was granted' }), [])
  const removal = removalOf(permit, target, context)
  // Its slot was merged into the slot of the machine's removal.
  if (removal !== undefined && before?.verdict === 'Granted')
    return decided(held(permit, removal), keptGates(written, target))
  const found = snapshot.fleet.find(target)
  const first = targetGate(found, { permit, uid: target.uid }, snapshot)
  if (found.kind !== 'Found' || first.verdict !== 'Granted') return decided(first, [first])
  const { unit } = found
  const competitor =
    (removal && removalUnderWay(removal)) ??
    competingSwitch(permit, target, context) ??
    competingWork(permit, unit, target, context)
  if (competitor !== undefined) return decided(competitor, [first, competitor])
  const isFree = snapshot.isWithoutDisruption(permit)
  const isBack = isRecovery(permit, target, context)
  const question: Question = {
    permit,
    unit,
    isRecovery: isBack,
    isBudgetExempt: isBack && snapshot.isBudgetExempt?.(permit) === true,
    policies: policiesFor(snapshot.policies, permit, unit),
  }
  const frozen = isFree ? holdGate(question, context) : undefined
  const gates = [first, ...(isFree ? (frozen === undefined ? [] : [frozen]) : askGates(question, context))]
  const judged = isFree ? [] : judgements(question, gates, context)
  const refusal =
    binding(gates) ??
    (isEnding ? wait('Ledger', { reason: 'PermitRequested', seen: 'the permit is ending' }) : undefined)
  if (refusal !== undefined) return { ...decided(refusal, gates), judged }
  return { ...take(question, target, isFree, gates, context), judged }
}

/** One switch of a component at a time. A recreated set does not know its predecessor's permit, whose machines may be between two versions. */
function competingSwitch(
  { spec, metadata }: OperationPermit,
  { uid }: Target,
  { ledger }: GateContext,
): GateVerdict | undefined {
  if (spec.component === undefined || !spec.operations.includes('SwitchComponent')) return undefined
  const other = ledger.switchUnder(uid, spec.component.name, metadata.uid ?? '')
  if (other === undefined) return undefined
  const seen = `${other.name} switches ${spec.component.name} under permit ${other.permit}`
  return wait('Ledger', { reason: 'WaitingForOther', seen, retryAfterMs: COMPETING_MS })
}

/** The slot under which a machine is removed. It also covers the machine's repairs. */
const removalOf = ({ spec, metadata }: OperationPermit, { uid }: Target, { ledger }: GateContext): Grant | undefined =>
  spec.component !== undefined || spec.operations.includes(REMOVAL)
    ? undefined
    : ledger.grants().find((g) => g.target === uid && g.permitUid !== metadata.uid && g.operations.includes(REMOVAL))

const removalUnderWay = ({ permit }: Grant): GateVerdict =>
  wait('Ledger', {
    reason: 'WaitingForOther',
    seen: `the machine is being removed under permit ${permit}`,
    retryAfterMs: COMPETING_MS,
  })

const REMOVAL: Disruption = 'ScaleIn'

/** A repair of a node, another repair of it, and maintenance of its host must not overlap. The ledger admits one of them. */
function competingWork(
  { spec, metadata }: OperationPermit,
  unit: Unit,
  { uid }: Target,
  { snapshot, ledger }: GateContext,
): GateVerdict | undefined {
  const { kind } = spec.requester
  if (kind === REPAIRER) {
    const event = (snapshot.maintenance ?? []).find((e) => e.spec.machine === unit.name && standsOff(e))
    if (event !== undefined)
      return wait('Ledger', { reason: 'MaintenanceUnderWay', seen: maintenanceText(event), retryAfterMs: COMPETING_MS })
  }
  if (kind !== REPAIRER && kind !== maintenanceEvent.kind) return undefined
  const others = new Map(snapshot.permits.map((p) => [p.metadata.uid, p.spec.requester]))
  const uids = new Set([uid, unit.id, nodeUidOf(unit)])
  const other = ledger.grants().find((g) => {
    const by = uids.has(g.target) && g.permitUid !== metadata.uid ? others.get(g.permitUid) : undefined
    if (by === undefined || !WORKERS.has(by.kind ?? '')) return false
    // Of a repair whose permit ended, the next permit must not wait for the slot: it is freed only once the machine is well.
    return by.kind !== kind || (kind === REPAIRER && g.state === 'Held' && by.name !== spec.requester.name)
  })
  return (
    other &&
    wait('Ledger', {
      reason: 'WaitingForOther',
      seen: `permit ${other.permit} works on it`,
      retryAfterMs: COMPETING_MS,
    })
  )
}

/** A repair may be asked for a Machine, or for its Node. */
const nodeUidOf = ({ source }: Unit): string | undefined =>
  source.kind === machineType.kind ? (source as Machine).status?.nodeRef?.uid : undefined

const WORKERS: ReadonlySet<string> = new Set([REPAIRER, maintenanceEvent.kind])

/** The other permit ends with its result or its lease. */
const COMPETING_MS = 5_000

/** Once an hour per component of a set. The ledger's record of the last one decides. */
function isRecovery(permit: OperationPermit, { uid }: Target, { snapshot, ledger }: GateContext): boolean {
  const way = wayOf(permit)
  return way !== undefined && snapshot.isRecovery(permit, uid) && ledger.mayGoBack(way)
}

function judgements(question: Question, gates: readonly GateVerdict[], context: GateContext): readonly Judgement[] {
  const { policies } = question
  const auditors = auditorsOf(context.snapshot.policies, question)
  const verdictIn = (of: readonly GateVerdict[]) => binding(of)?.verdict ?? 'Granted'
  const alone = (policy: CompiledPolicy): Judgement => ({
    policy: policy.name,
    verdict: verdictIn(askGates({ ...question, policies: [policy] }, context)),
  })
  const [only] = policies
  // With a single policy, `gates` already has its verdicts.
  const deciding =
    only !== undefined && policies.length === 1
      ? [{ policy: only.name, verdict: verdictIn(gates) }]
      : policies.map(alone)
  return [...deciding, ...auditors.map(alone)]
}

function take(
  question: Question,
  target: Target,
  isFree: boolean,
  gates: readonly GateVerdict[],
  { snapshot, ledger, levels }: GateContext,
): TargetDecision {
  const { permit, unit } = question
  const asked: Grant = {
    ...grantFor(permit, target, unit, ledger.now),
    ...(isFree && { exempt: 'NoDisruption' as const }),
  }
  const repairs = isFree ? [] : repairsWithin(asked, ledger.grants())
  const grant = { ...asked, operations: [...new Set([...asked.operations, ...repairs.flatMap((g) => g.operations)])] }
  // Policies in mode Audit count too: otherwise they could not report what their rates would have done.
  const policies = [...question.policies, ...auditorsOf(snapshot.policies, question)]
  const series = isFree ? [] : seriesOf({ ...question, policies })
  const full = ledger.isFull(grant, series)
  if (full !== undefined)
    return { target: target.uid, gates, verdict: deny('Ledger', { reason: 'LedgerFull', seen: full }) }
  for (const left of [...repairs, ...supersededBy(asked, ledger.grants(), snapshot.deletedPermits)]) ledger.free(left)
  ledger.take(grant, series)
  const way = isFree ? undefined : wayOf(permit)
  if (way !== undefined) ledger.went(way, question.isRecovery)
  // Also in the levels of policies that do not decide this: they count everything unavailable.
  levels.take([builtinPolicy, ...snapshot.policies], grant, unit)
  return { target: target.uid, gates, verdict: held(permit, grant) }
}

/** Limit of a slot's list. */
const MOST_OPERATIONS = 8

/**
 * Slots of repairs on a machine that is now being removed: one machine, one slot. The removal's slot takes over their operations, since a reboot may
 * still be running and policies count it.
 */
function repairsWithin(removal: Grant, grants: readonly Grant[]): readonly Grant[] {
  if (!removal.operations.includes(REMOVAL)) return []
  const repairs = grants.filter((g) => g.target === removal.target && g.component === undefined)
  const all = new Set([...removal.operations, ...repairs.flatMap((g) => g.operations)])
  return all.size > MOST_OPERATIONS ? [] : repairs
}

/**
 * Slots of deleted permits for the same work on the same target. The new slot replaces them for the target. Otherwise each deleted permit would leave
 * a slot, and a single machine would fill the ledger.
 */
const supersededBy = (
  { target, operations, component }: Grant,
  grants: readonly Grant[],
  deletedPermits: ReadonlySet<string>,
): readonly Grant[] =>
  deletedPermits.size === 0
    ? []
    : grants.filter(
        (g) =>
          g.target === target &&
          g.state === 'Orphaned' &&
          deletedPermits.has(g.permitUid) &&
          g.component === component &&
          jsonEqual(g.operations, operations),
      )

/** From the ledger alone, so that a permit that lost its status in a crash gets the same verdict. */
export const held = (_permit: OperationPermit, { grantedAt }: Grant): GateVerdict =>
  pass('Ledger', { reason: 'PermitGranted', seen: `granted at ${grantedAt}` })

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

const asGate = ({ target: _target, ...verdict }: Verdict): GateVerdict =>
  ({ ...verdict, reason: verdict.verdict === 'Granted' ? 'PermitGranted' : 'PermitDenied' }) as GateVerdict

/** What the status says, by target: a permit has up to a hundred. */
export interface Written {
  readonly verdicts: ReadonlyMap<string, Verdict>
  readonly gates: ReadonlyMap<string, readonly Verdict[]>
}

export const writtenIn = ({ status }: OperationPermit): Written => ({
  verdicts: new Map((status?.verdicts ?? []).toReversed().map((v) => [v.target, v])),
  gates: Map.groupBy(status?.gates ?? [], (g) => g.target),
})

const keptGates = ({ gates }: Written, { uid }: Target): readonly GateVerdict[] => (gates.get(uid) ?? []).map(asGate)

export function grantFor(
  { metadata, spec }: OperationPermit,
  target: Target,
  unit: Unit | undefined,
  now: number,
): Grant {
  const { kind, namespace, name, uid } = target
  const { zone = '', rack = '', pool = '', stage = '', region = '' } = unit ?? {}
  const domains = { zone, rack, pool, stage, region }
  const known = Object.fromEntries(Object.entries(domains).filter(([, value]) => value !== ''))
  return {
    permit: metadata.name ?? '',
    permitUid: metadata.uid ?? '',
    target: uid,
    kind,
    ...defined({ namespace }),
    name,
    operations: spec.operations,
    state: 'Held',
    grantedAt: timestamp(now),
    ...known,
    ...(spec.component !== undefined && { component: spec.component.name }),
  }
}
