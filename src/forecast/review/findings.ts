// A review in words: what to change about rules and monitors, the worst first, each with what to do next. Pure; computes nothing that the result does not have.
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { shellWord } from '#lib/shell-word.ts'
import { type Table, percent } from '../backtest/findings.ts'
import { askedAgain } from '../backtest/one-history.ts'
import type { ConditionReview, ReviewResult, RuleReview } from './result.ts'

export interface ReviewFinding {
  readonly kind: 'Needless' | 'Relapsing' | 'SeldomHelps' | 'Broken' | 'NoMonitor' | 'NeverFired' | 'NoRule'
  readonly of: 'Rule' | 'Condition'
  readonly name: string
  readonly what: string
  readonly next: string
  /** To be typed as it is. */
  readonly command?: string
}

export interface ReviewNames {
  /** As it is typed again. */
  readonly history?: string | undefined
  readonly cluster?: string | undefined
  /** Whose monitors were compared: `commit 3f1c9e0a7b5d`. */
  readonly fleet?: string | undefined
}

export interface ReviewFindings {
  readonly title: string
  readonly about: string
  readonly headline: string
  readonly findings: readonly ReviewFinding[]
  readonly tables: readonly Table[]
  readonly notes: readonly string[]
}

/** A rule that is wrong more often than this is named. */
const MOST_NEEDLESS = 0.5
const MOST_RELAPSES = 0.5
const LEAST_HELPED = 0.5
/** Fewer are chance. */
const FEWEST = 3

export function reviewFindings(result: ReviewResult, names: ReviewNames): ReviewFindings {
  const { cluster, from, to, windowMs, rows, nodes, unknownShare, isEmpty, rules } = result
  const length = to - from
  const tooNew = rules.filter(isTooNew)
  const asked = length < windowMs ? `, ${formatDuration(windowMs)} asked for` : ''
  const seen = isEmpty
    ? 'nothing was recorded'
    : `${counted(nodes, 'node')}, ${counted(rows, 'recorded change')}, nothing recorded ${percent(unknownShare)} of the time`
  const findings = [
    ...rules.flatMap((rule) => ofRepairs(rule, names)),
    ...rules.flatMap((rule) => ofSilence(rule, result, names)),
    ...unrecorded(result, names),
    ...result.conditions.flatMap(withoutRule),
  ]
  return {
    title: `Review of ${counted(rules.length, 'rule')} in cluster ${cluster}`,
    about: `${timestamp(from)} to ${timestamp(to)} (${formatDuration(length)}${asked}): ${seen}`,
    headline:
      findings.length > 0
        ? `${findings.length} to look at`
        : isEmpty
          ? 'Nothing was recorded of any node, so nothing follows.'
          : tooNew.length > 0
            ? 'Nothing to do yet.'
            : 'Nothing to do.',
    findings,
    tables: tablesOf(result),
    notes: [
      ...(tooNew.length === 0
        ? []
        : [
            `${counted(tooNew.length, 'rule')} never fired, and ${tooNew.length === 1 ? 'was' : 'were'} recorded for less than ${formatDuration(LEAST_MS)}: conclude nothing from that yet.`,
          ]),
      'Needless: the fault ended by itself within the time that the repair takes.',
      'Unknown: the repair began to work, a person changed the node, or nothing was recorded, so whether the fault would have ended by itself cannot be told. A rule in mode DryRun changes nothing, so its repairs are all judged.',
      ...(result.unset === undefined
        ? [
            names.fleet === undefined
              ? 'Monitors were not compared. Name the fleet with --commit to find rules whose condition nothing sets.'
              : `Monitors were not compared: ${names.fleet} does not declare what the agents report.`,
          ]
        : []),
    ],
  }
}

const judgedShare = ({ needless, repairs, dryRuns }: RuleReview): number => needless / (repairs + dryRuns)

function ofRepairs(rule: RuleReview, { history }: ReviewNames): readonly ReviewFinding[] {
  const { rule: name, needless, repairs, dryRuns, unknown, relapses, helped, tried, examples } = rule
  const of = { of: 'Rule', name } as const
  const all = repairs + dryRuns
  const out: ReviewFinding[] = []
  const [example] = examples
  if (needless >= FEWEST && judgedShare(rule) > MOST_NEEDLESS && example !== undefined)
    out.push({
      ...of,
      kind: 'Needless',
      what: `fires needlessly: ${needless} of ${all} repairs (${percent(judgedShare(rule))}) were for faults that ended by themselves within the time of the repair${unknown === 0 ? '' : `; ${unknown} unknown`}`,
      next: `raise "for" above the time that the fault usually lasts, and compare with kubenode rules backtest. The first one was on node ${example.node}:`,
      command: whyCommand(example, history),
    })
  if (relapses >= FEWEST && relapses / all > MOST_RELAPSES)
    out.push({
      ...of,
      kind: 'Relapsing',
      what: `repairs do not last: after ${relapses} of ${all} repairs, the fault came back within the relapse window`,
      next: 'look for the cause behind the fault, or begin the ladder with an operation that lasts longer',
    })
  if (tried >= FEWEST && helped / tried < LEAST_HELPED)
    out.push({
      ...of,
      kind: 'SeldomHelps',
      what: `seldom helps: ${helped} of ${tried} repairs ended the fault (${outcomesText(rule)})`,
      next: 'replace the operations of its ladder, or hand the fault to people with reportFault',
    })
  return out
}

const whyCommand = (
  { node, at }: { readonly node: string; readonly at: number },
  history: string | undefined,
): string => `kubenode why ${shellWord(`node/${node}`)} --at ${timestamp(at)}${source(history)}`

const source = (history: string | undefined): string =>
  history === undefined ? '' : ` --history ${shellWord(history)}`

const outcomesText = ({ outcomes }: RuleReview): string =>
  Object.entries(outcomes)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ')

/** A rule that was recorded for less tells nothing by not firing. */
const LEAST_MS = 7 * 86_400_000

const isTooNew = ({ isActive, knownMs, repairs, dryRuns, longest }: RuleReview): boolean =>
  isActive && knownMs < LEAST_MS && repairs + dryRuns === 0 && longest === undefined

const REMOVE = 'keep it if the fault is rare and a case of kubenode rules test covers it; otherwise remove it'

/** At most one: why a rule did not fire. */
function ofSilence(rule: RuleReview, { unset, windowMs }: ReviewResult, names: ReviewNames): readonly ReviewFinding[] {
  const {
    rule: name,
    isActive,
    neverReported,
    repairs,
    dryRuns,
    knownMs,
    times,
    longestMs,
    longest,
    forMs,
    mode,
  } = rule
  const of = { of: 'Rule', name } as const
  if (!isActive)
    return [
      {
        ...of,
        kind: 'Broken',
        what: 'cannot be evaluated, so it never fires',
        next: 'see why:',
        command: 'kubenode rules lint',
      },
    ]
  const missing = unset?.get(name)
  if (missing !== undefined) return [noMonitor(name, missing, names)]
  if (repairs + dryRuns > 0 || isTooNew(rule)) return []
  const never = (why: string, next: string, command?: string): readonly ReviewFinding[] => [
    {
      ...of,
      kind: 'NeverFired',
      what: `never fired in ${formatDuration(knownMs)}: ${why}`,
      next,
      ...defined({ command }),
    },
  ]
  if (neverReported.length > 0)
    return never(
      `no node ever reported ${listed('condition', neverReported)}`,
      `check that a monitor sets ${neverReported.length === 1 ? 'it' : 'them'} on the nodes of this rule${knownMs < windowMs ? '' : ', or remove the rule'}`,
      names.fleet === undefined ? `kubenode rules review --commit HEAD${askedAgain(names)}` : undefined,
    )
  if (longest === undefined)
    return never(
      'it was never true of a node',
      knownMs < windowMs
        ? `that is less than ${formatDuration(windowMs)}, so conclude nothing yet; run the review again on a longer history`
        : REMOVE,
    )
  const wasTrue = `it was true ${counted(times, 'time')}`
  if (mode === 'Shadow')
    return never(`${wasTrue}, and mode Shadow asks for nothing`, 'set mode DryRun to record what it would do')
  if (longestMs < forMs)
    return never(
      `${wasTrue}, at most for ${formatDuration(longestMs)}, and it waits for ${formatDuration(forMs)}`,
      'keep it if faults that short need no repair; otherwise shorten "for" and compare with kubenode rules backtest',
    )
  return never(
    `${wasTrue}, up to ${formatDuration(longestMs)}, and something held it back`,
    'see what held it back:',
    whyCommand(longest, names.history),
  )
}

const listed = (noun: string, names: readonly string[]): string =>
  `${noun}${names.length === 1 ? '' : 's'} ${names.join(', ')}`

function noMonitor(
  name: string,
  missing: readonly { readonly type: string; readonly hint: string }[],
  { fleet = 'the fleet' }: ReviewNames,
): ReviewFinding {
  return {
    of: 'Rule',
    name,
    kind: 'NoMonitor',
    what: `can never fire: no monitor of ${fleet} sets ${listed(
      'condition',
      missing.map(({ type, hint }) => `${type}${hint}`),
    )}`,
    next: `have the agents detect it, or remove the rule; if something else sets it, list it in the annotation ${ANNOTATIONS.conditionsElsewhere} of the rule`,
  }
}

/** Rules of the fleet that the history does not have yet. */
function unrecorded({ unset, rules }: ReviewResult, names: ReviewNames): readonly ReviewFinding[] {
  const known = new Set(rules.map((r) => r.rule))
  return [...(unset ?? [])]
    .filter(([name]) => !known.has(name))
    .map(([name, missing]) => noMonitor(name, missing, names))
}

function withoutRule({ type, rules, isExcused, nodes, times, ms, now }: ConditionReview): readonly ReviewFinding[] {
  if (rules.length > 0 || isExcused) return []
  const still = now === 0 ? '' : `; still so on ${counted(now, 'node')}`
  return [
    {
      of: 'Condition',
      name: type,
      kind: 'NoRule',
      what: `has no rule: it was ${badStatus(type)} ${counted(times, 'time')} on ${counted(nodes, 'node')}, ${formatDuration(rounded(ms))} in sum${still}`,
      next: `declare a NodeRemedier that reads it, or write into the annotation ${ANNOTATIONS.withoutRule} of the agents' ConfigMap why it needs none`,
    },
  ]
}

const badStatus = (type: string): string => (type === 'Ready' ? 'False' : 'True')

const SECOND_MS = 1_000
const rounded = (ms: number): number => Math.round(ms / SECOND_MS) * SECOND_MS

function tablesOf({ rules, conditions }: ReviewResult): readonly Table[] {
  return [
    {
      title: 'Rules',
      columns: ['Rule', 'True', 'Repairs', 'Helped', 'Needless', 'Unknown', 'Relapses'],
      rows: rules.map((r) => [
        r.rule,
        String(r.times),
        r.dryRuns === 0 ? String(r.repairs) : `${r.repairs} + ${r.dryRuns} dry`,
        `${r.helped} of ${r.tried}`,
        String(r.needless),
        String(r.unknown),
        String(r.relapses),
      ]),
    },
    {
      title: 'Conditions that meant trouble',
      columns: ['Condition', 'Times', 'Nodes', 'In sum', 'Now', 'Rules'],
      rows: conditions.map((c) => [
        c.type,
        String(c.times),
        String(c.nodes),
        formatDuration(rounded(c.ms)),
        String(c.now),
        c.rules.length === 0 ? (c.isExcused ? 'needs none' : 'none') : c.rules.join(', '),
      ]),
    },
  ].filter((t) => t.rows.length > 0)
}
