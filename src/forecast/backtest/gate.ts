// Which figures of a comparison may fail a pull request, the gates that are shipped, and whether a result meets one. Pure.
import { type Expression, type Figures, parsedExpression } from './expression.ts'
import type { BacktestResult } from './result.ts'
import type { RuleSums } from './sums.ts'

/** Names of figures with what they mean. */
export const BACKTEST_FIGURES: Readonly<Record<string, string>> = {
  'added.jobs': 'repairs that only the change asks for',
  'added.reboots': 'reboots of the change, less those of the base',
  'added.drains': 'drains of the change, less those of the base',
  'added.replacements': 'replacements of the change, less those of the base',
  'added.needless': 'needless repairs of the change, less those of the base',
  'added.missed': 'nodes down for ten minutes without a repair under the change, less those under the base',
  'removed.jobs': 'repairs that only the base asks for',
  'moved.earlier': 'repairs that the change asks for earlier',
  'moved.later': 'repairs that the change asks for later',
  'needless.share':
    'of the repairs of the change that could be judged, those of which the fault ended by itself in the time that the repair takes',
  'rule.needless':
    'the same of the worst rule among those that differ, if at least three of its repairs could be judged',
  'dropped.rules': 'rules whose faults the base repairs and the change never does',
  'dropped.unreported':
    'such rules, where the change has one in its place that can never be true: no node of the history reported its condition',
  missed: 'nodes down for ten minutes without a repair under the change',
  'peak.zone': 'the highest share of a zone that repairs of the change take out at once',
  'peak.rack': 'the same of a rack',
  'peak.machines': 'the most machines of a zone that repairs of the change take out at once',
  'budget.share':
    'the largest share of machines that a budget or limit allows at once, of those that the change adds or loosens; a number counts as a share of the machines that it is about, at the end of the history',
  'permits.refused': 'recorded requests that only the policies of the base grant',
  'permits.allowed': 'recorded requests that only the policies of the change grant',
  'censored.share': 'repairs of the change on nodes that a real repair or a person was changing',
  'unknown.share': 'share of the time in which nothing was recorded',
  calibration: 'share of the recorded repairs that the base reproduces',
}

/** A rule that repairs what ends by itself, a budget that is none, a zone that repairs empty, and a fault that is no longer repaired: of a node that is down, or because of a condition that no node has. */
export const SHIPPED_GATES: readonly string[] = [
  'needless.share > 10% and added.needless >= 3',
  'rule.needless > 50% and added.needless >= 3',
  'peak.zone > 20% and peak.machines >= 3',
  'budget.share > 50%',
  'added.missed > 0',
  'dropped.unreported > 0',
]

const NAMES = Object.keys(BACKTEST_FIGURES)

export const gateOf = (text: string): Expression => parsedExpression(text, NAMES)

export function figuresOf(result: BacktestResult): Figures {
  const { base, change, total, permits } = result
  const added = (of: (sums: RuleSums) => number) => of(change.total) - of(base.total)
  return {
    'added.jobs': total.added,
    'added.reboots': added((s) => s.reboots),
    'added.drains': added((s) => s.drains),
    'added.replacements': added((s) => s.replacements),
    'added.needless': added((s) => s.needless),
    'added.missed': change.missed - base.missed,
    'removed.jobs': total.removed,
    'moved.earlier': total.earlier,
    'moved.later': total.later,
    'needless.share': shareOf(change.total.needless, change.total.judged),
    'rule.needless': worstRule(result),
    'dropped.rules': result.dropped.length,
    'dropped.unreported': unreportedInPlace(result),
    missed: change.missed,
    'peak.zone': change.peaks.zone?.share ?? 0,
    'peak.rack': change.peaks.rack?.share ?? 0,
    'peak.machines': change.peaks.zone?.machines ?? 0,
    'budget.share': result.loosened.share,
    'permits.refused': permits.refused,
    'permits.allowed': permits.allowed,
    'censored.share': shareOf(change.total.censored, change.total.jobs),
    'unknown.share': result.unknownShare,
    calibration: result.calibration.share,
  }
}

const shareOf = (part: number, all: number): number => (all === 0 ? 0 : part / all)
/** Of one or two repairs a share says little. */
const FEWEST_JUDGED = 3

function worstRule({ rules }: BacktestResult): number {
  const changed = rules.filter((r) => r.change.needless > r.base.needless && r.change.judged >= FEWEST_JUDGED)
  return Math.max(0, ...changed.map((r) => shareOf(r.change.needless, r.change.judged)))
}

/** Of the same name, or with a condition that is nearly one of the history. */
const unreportedInPlace = ({ dropped, unreported }: BacktestResult): number =>
  dropped.filter(({ rule }) =>
    unreported.some((u) => u.side === 'change' && (u.rule === rule || u.types.some((t) => t.meant !== undefined))),
  ).length

export interface GateHit {
  readonly gate: string
  /** The figures that it names, as they are. */
  readonly seen: readonly (readonly [name: string, value: number])[]
}

export function hitGates(gates: readonly Expression[], result: BacktestResult): readonly GateHit[] {
  const figures = figuresOf(result)
  return gates
    .filter((gate) => gate.isTrue(figures))
    .map(({ text, names }) => ({ gate: text, seen: names.map((name) => [name, figures[name] ?? 0] as const) }))
}
