// A set and a canary that switch machines of the same set respect its maxUnavailable together. Each plans from a cache that may not show the other's
// request yet, so the ledger decides. If only one of them makes requests, its own planning is enough.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { GateVerdict } from '../gate.ts'
import { budgetLimit } from '../levels.ts'
import type { GateContext, Question } from '../question.ts'
import { wait } from '../verdict-of.ts'
import type { SetLimit, Snapshot } from '../snapshot.ts'
import { isOutOfService } from '../unit.ts'

/** The other one ends with its result or its lease. */
const RETRY_MS = 15_000

export const isCanarys = ({ spec }: OperationPermit): boolean => spec.requester.kind === componentCanary.kind
const isSets = ({ spec }: OperationPermit): boolean => spec.requester.kind === machineComponentSet.kind

export function setLimitGate({ permit, unit }: Question, { snapshot, ledger }: GateContext): readonly GateVerdict[] {
  const { setLimits = [], fleet } = snapshot
  if (setLimits.length === 0 || isOutOfService(unit)) return []
  const isCompeting = isCanarys(permit) ? isSets : isSets(permit) ? isCanarys : () => false
  const competing = new Set(snapshot.permits.filter(isCompeting).map((p) => p.metadata.uid))
  const grants = ledger.grants().filter((g) => g.exempt !== 'NoDisruption' && g.operations.includes('SwitchComponent'))
  if (!grants.some((g) => competing.has(g.permitUid))) return []
  for (const set of limitsFor(permit, unit, setLimits)) {
    const taken = grants.filter((g) => {
      const found = fleet.find({ ...g, uid: g.target })
      return found.kind === 'Found' && found.unit.id !== unit.id && set.selects(found.unit)
    })
    const competitor = taken.find((g) => competing.has(g.permitUid))
    const count = new Set(taken.map((g) => g.target)).size
    const limit = limitOf(set, snapshot)
    if (competitor === undefined || count < limit) continue
    return [
      wait('Budget', {
        reason: 'BudgetExhausted',
        seen: `${count} of set ${set.name} are being switched, ${competitor.name} under permit ${competitor.permit}`,
        limit: `${typeof set.maxUnavailable === 'number' ? limit : `${limit} (${set.maxUnavailable})`}, maxUnavailable of the set`,
        retryAfterMs: RETRY_MS,
      }),
    ]
  }
  return []
}

/** For a set's request, its own limit. For a canary's request, the limits of the sets that declare its component for the machine. */
function limitsFor(
  { spec }: OperationPermit,
  unit: Question['unit'],
  limits: readonly SetLimit[],
): readonly SetLimit[] {
  const { requester, component } = spec
  if (requester.kind === machineComponentSet.kind) return limits.filter(({ uid }) => uid === requester.uid)
  return limits.filter((l) => l.components.has(component?.name ?? '') && l.selects(unit))
}

/** As the set counts: machines that have served, and at least one, or a small set would stop forever. */
function limitOf(limit: SetLimit, { fleet }: Snapshot): number {
  const { maxUnavailable } = limit
  if (typeof maxUnavailable === 'number') return Math.max(1, maxUnavailable)
  const members = fleet.units.filter((u) => u.space === 'machines' && u.health !== 'NeverServed' && limit.selects(u))
  return Math.max(1, budgetLimit(maxUnavailable, members.length))
}
