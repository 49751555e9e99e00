// A comparison in words: headline, tables and examples, the same for every form of output. Pure; computes nothing that the result does not have.
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration } from '#lib/duration.ts'
import { shellWord } from '#lib/shell-word.ts'
import { isShare } from './expression.ts'
import type { GateHit } from './gate.ts'
import {
  type BacktestResult,
  type ClosedSums,
  type Example,
  type SideResult,
  type Spread,
  TRUSTED_SHARE,
  isTrusted,
} from './result.ts'
import type { Bound, Peak, RuleSums } from './sums.ts'
import { FEWEST_OUTCOMES } from './measured.ts'
import { SIDES } from './verdicts.ts'

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface Findings {
  readonly title: string
  readonly about: string
  readonly calibration: string
  readonly isTrusted: boolean
  /** What makes the change look better than it is. */
  readonly doubts: readonly string[]
  readonly tables: readonly Table[]
  /** Each with the command that explains it. */
  readonly examples: readonly {
    readonly title: string
    readonly lines: readonly { readonly what: string; readonly command: string }[]
  }[]
  readonly notes: readonly string[]
  readonly gates: readonly string[]
}

export interface Asked {
  /** Whose rules: `commit 3f1c9e0a7b5d`. */
  readonly base: string
  readonly change: string
  /** As it is typed again. */
  readonly history: string | undefined
  readonly gates: readonly string[]
  /** Names of repairs, which tell the second, were replaced. */
  readonly isRedacted: boolean
}

export const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`

export function findingsOf(result: BacktestResult, hits: readonly GateHit[], asked: Asked): Findings {
  const { cluster, from, to, rows, nodes, unknownShare, isEmpty } = result
  const what = isEmpty
    ? 'nothing was recorded'
    : `${counted(nodes, 'node')}, ${counted(rows, 'recorded change')}, nothing recorded ${percent(unknownShare)} of the time`
  return {
    title: `Rules of ${asked.change} against ${asked.base}, in cluster ${cluster}`,
    about: `${timestamp(from)} to ${timestamp(to)}: ${what}`,
    calibration: calibrationText(result, asked.isRedacted),
    isTrusted: isTrusted(result),
    doubts: doubtTexts(result),
    tables: tablesOf(result),
    examples: examplesOf(result, asked),
    notes: notesOf(result),
    gates: isTrusted(result) ? hits.map(gateText) : [],
  }
}

function calibrationText(result: BacktestResult, isRedacted: boolean): string {
  const { recorded, predicted, matched, exact, share } = result.calibration
  if (result.isEmpty) return 'Calibration: nothing was recorded of any node, so nothing follows, and no gate is judged'
  if (recorded + predicted === 0)
    return 'Calibration: no repair was recorded and the base asks for none, so there is nothing to compare with'
  const exactly = exact === matched || isRedacted ? '' : `, ${exact} of them to the second`
  const what = `Calibration: the base asks for ${counted(predicted, 'repair')}, ${recorded} ${wasWere(recorded)} recorded, ${matched} ${matched === 1 ? 'is' : 'are'} the same${exactly} (${percent(share)})`
  return isTrusted(result)
    ? what
    : `${what}. Not to be trusted: below ${percent(TRUSTED_SHARE)} the base does not explain what happened, and no gate is judged`
}

const wasWere = (n: number): string => (n === 1 ? 'was' : 'were')
const MOST_NAMED = 5

const named = (names: readonly string[]): string =>
  names.length <= MOST_NAMED
    ? names.join(', ')
    : `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`

function doubtTexts({ unreported, dropped, uncounted }: BacktestResult): readonly string[] {
  const never = unreported.slice(0, MOST_NAMED).map(({ side, rule, types }) => {
    const seen = types.map(({ type, meant }) => (meant === undefined ? type : `${type} (did you mean ${meant}?)`))
    return `Rule ${rule} of the ${side} can never be true here: no node of the history reported ${named(seen)}.`
  })
  const more = unreported.length - never.length
  const silent = SIDES.flatMap((side) =>
    (['DryRun', 'Shadow'] as const).flatMap((mode) => {
      const rules = uncounted.filter((u) => u.side === side && u.mode === mode).map((u) => u.rule)
      if (rules.length === 0) return []
      const who = `${rules.length === 1 ? 'rule' : 'rules'} ${named(rules)} ${rules.length === 1 ? 'is' : 'are'}`
      return [`In the ${side}, ${who} in ${mode}: repairs of ${rules.length === 1 ? 'it' : 'them'} are not counted.`]
    }),
  )
  return [
    ...never,
    ...(more === 0 ? [] : [`The same is true of ${counted(more, 'more rule')}.`]),
    ...dropped
      .slice(0, MOST_NAMED)
      .map(
        ({ rule, repairs }) =>
          `The change repairs nothing that rule ${rule} repairs ${counted(repairs, 'time')} in the base.`,
      ),
    ...silent,
  ]
}

const both = (base: number, change: number): string => (base === change ? String(base) : `${base} → ${change}`)
const minutes = (n: number): string => String(Math.round(n))

function tablesOf(result: BacktestResult): readonly Table[] {
  const { rules, base, change, permits, closed } = result
  const shown = rules.filter((r) => r.base.jobs + r.change.jobs > 0)
  const cells = (b: RuleSums, c: RuleSums): readonly string[] => [
    both(b.jobs, c.jobs),
    both(b.needless, c.needless),
    both(b.censored, c.censored),
    both(b.reboots, c.reboots),
    both(b.drains, c.drains),
    both(b.relapses, c.relapses),
    both(Math.round(b.nodeMinutes), Math.round(c.nodeMinutes)),
  ]
  const tables: (Table | undefined)[] = [
    {
      title: 'Open loop: what would have been asked for if no repair changed anything',
      columns: [
        'Rule',
        'Repairs',
        'Added',
        'Removed',
        'Earlier',
        'Later',
        'Needless',
        'Censored',
        'Reboots',
        'Drains',
        'Relapses',
        'Node-minutes',
      ],
      rows: [
        ...shown.map((r) => {
          const [jobs = '', ...more] = cells(r.base, r.change)
          return [r.rule, jobs, String(r.added), String(r.removed), String(r.earlier), String(r.later), ...more]
        }),
        (() => {
          const { added, removed, earlier, later } = result.total
          const [jobs = '', ...more] = cells(base.total, change.total)
          return ['all', jobs, String(added), String(removed), String(earlier), String(later), ...more]
        })(),
      ],
    },
    {
      title: 'In sum',
      columns: ['What', 'Base', 'Change'],
      rows: [
        ['nodes down for 10m without a repair', String(base.missed), String(change.missed)],
        ['most of a zone out at once', peakText(base.peaks.zone), peakText(change.peaks.zone)],
        ['most of a rack out at once', peakText(base.peaks.rack), peakText(change.peaks.rack)],
        ['widest budget that differs', budgetText(base), budgetText(change)],
      ],
    },
    boundTable(base, change),
    permits.asked === 0
      ? undefined
      : {
          title: 'Recorded requests of rollouts, maintenance and people, under the policies of both',
          columns: ['Asked', 'Granted', 'Refused', 'Allowed', 'Later', 'Sooner'],
          rows: [
            [
              permits.asked,
              both(permits.granted.base, permits.granted.change),
              permits.refused,
              permits.allowed,
              permits.later,
              permits.sooner,
            ].map(String),
          ],
        },
    closed === undefined ? undefined : closedTable(closed),
  ]
  return tables.filter((t) => t !== undefined)
}

const peakText = (peak: Peak | undefined): string =>
  peak === undefined
    ? 'none'
    : `${peak.machines} of ${peak.of} in ${peak.place} (${percent(peak.share)}) at ${timestamp(peak.at)}`

const budgetText = ({ budget }: SideResult): string =>
  budget.share === 0 ? 'none' : `${percent(budget.share)} (${budget.what})`

const MOST_BOUND = 10

function boundTable(base: SideResult, change: SideResult): Table | undefined {
  const of = (side: SideResult): ReadonlyMap<string, Bound> =>
    new Map([...side.limits, ...side.gates].map((b) => [b.what, b]))
  const [a, b] = [of(base), of(change)]
  const text = (bound: Bound | undefined) =>
    bound === undefined ? 'never' : `${formatDuration(bound.ms)}, ${counted(bound.times, 'time')}`
  const names = [...new Set([...b.keys(), ...a.keys()])].slice(0, MOST_BOUND)
  if (names.length === 0) return undefined
  return {
    title: 'What made repairs and requests wait',
    columns: ['Limit', 'Base', 'Change'],
    rows: names.map((name) => [name, text(a.get(name)), text(b.get(name))]),
  }
}

function closedTable({ seeds, outcomes, base, change }: NonNullable<BacktestResult['closed']>): Table {
  const text = ({ median, p95 }: Spread): string => `${minutes(median)} (${minutes(p95)})`
  const row = (what: string, of: (sums: ClosedSums) => Spread): readonly string[] => [
    what,
    text(of(base)),
    text(of(change)),
  ]
  return {
    title: `Closed loop: if repairs helped as often as in the history (${counted(outcomes, 'outcome')}, ${counted(seeds, 'run')}), median and 95th percentile`,
    columns: ['What', 'Base', 'Change'],
    rows: [
      row('repairs', (s) => s.jobs),
      row('reboots', (s) => s.reboots),
      row('drains', (s) => s.drains),
      row('minutes with a fault', (s) => s.faultMinutes),
    ],
  }
}

function examplesOf({ examples }: BacktestResult, { history }: Asked): Findings['examples'] {
  const source = history === undefined ? '' : ` --history ${shellWord(history)}`
  const of = (title: string, list: readonly Example[]) => ({
    title,
    lines: list.map(({ node, rule, at }) => ({
      what: `${node}${rule === '' ? '' : ` by ${rule}`} at ${timestamp(at)}`,
      command: `kubenode why ${shellWord(`node/${node}`)} --at ${timestamp(at)}${source}`,
    })),
  })
  return [
    of('Only the change repairs', examples.added),
    of('Only the base repairs', examples.removed),
    of('Needless under the change', examples.needless),
    of('Down without a repair under the change only', examples.missed),
  ].filter(({ lines }) => lines.length > 0)
}

const MOST_UNMEASURED = 5

function unmeasuredTexts({ closed }: BacktestResult): readonly string[] {
  if (closed === undefined) return []
  return SIDES.flatMap((side) =>
    closed[side].unmeasured.slice(0, MOST_UNMEASURED).map(({ operations, outcomes }) => {
      const why =
        outcomes === 0
          ? 'no such repair was recorded'
          : `only ${counted(outcomes, 'outcome')} of such repairs ${wasWere(outcomes)} recorded, and ${FEWEST_OUTCOMES} are needed`
      return `Closed loop of the ${side}: ${why} (${operations}), so faults that it repairs end as recorded.`
    }),
  )
}

function notesOf(result: BacktestResult): readonly string[] {
  const { base, change } = result
  const censored = change.total.jobs === 0 ? 0 : change.total.censored / change.total.jobs
  return [
    'Needless: the fault ended by itself within the time that the repair takes.',
    `Censored: a real repair or a person was changing the node, so what happened then proves nothing (${percent(censored)} of the repairs of the change; ${base.total.censored} of ${base.total.jobs} of the base).`,
    ...unmeasuredTexts(result),
    'Not replayed: blame of versions and racks, the brake over all clusters, rules of policies about error budgets, and pods.',
  ]
}

const gateText = ({ gate, seen }: GateHit): string =>
  `${gate} (${seen.map(([name, value]) => `${name} is ${isShare(name) ? percent(value) : value}`).join(', ')})`
