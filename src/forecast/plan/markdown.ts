// A plan as a pull request comment: the most important first, nothing red folded away, and always within the size limit.
import { type CommitTitle, shortCommit } from '#api/protocol/commit-title.ts'
import { HUB_TARGET } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import { type ClusterDifference, noteTexts, type ObjectChange } from '#sync/difference.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { Loosened } from '../loosened/loosened.ts'
import type { OneWay } from '../one-way.ts'
import type { Prunes } from '../prunes.ts'
import { loosenedLines, unnamedIn } from './loosened-lines.ts'
import { approvalTexts, earlierTexts } from './findings.ts'
import { groupsOf, lossOf, uncountedTexts } from './losses.ts'
import type { HubTurn } from './hub-turn.ts'
import { minutesText } from './minutes.ts'
import { heldTexts, type Outlook, whileHeld } from './outlook.ts'
import { checkThis } from './check-this.ts'
import { code, escaped, firstOf, inMarkdown, shownPart, titled } from './markdown-text.ts'
import { approveCommand, guardText, pruneDoubt, unknownTexts } from './prunes.ts'
import { movedText, oneWayLines, clusterTimeText, stepsText, timeText } from './spans.ts'
import { unpredictedRules, whatChanges } from './what-changes.ts'
import { someOf } from '#lib/some-of.ts'

export interface PlanDocument {
  readonly commit: string
  readonly base: string | undefined
  /** Titles of the two commits. */
  readonly titles?: { readonly commit: CommitTitle; readonly base?: CommitTitle }
  readonly against?: string
  readonly isDirty: boolean
  /** The only requested cluster; the digest covers all. */
  readonly only?: string
  readonly clusters: readonly ClusterDifference[]
  /** With these problems, sync does not follow the commit. */
  readonly problems: readonly string[]
  /** These do not block the commit and may be intended. */
  readonly warnings?: readonly string[]
  readonly outlook: Outlook | undefined
  readonly digest: string
  readonly version: string
  /** Deletions that need an approval. */
  readonly prunes?: Prunes
  readonly loosened?: readonly Loosened[]
  /** What a revert does not undo. */
  readonly oneWay?: readonly OneWay[]
  readonly easyReturns?: readonly OneWay[]
}

export interface MarkdownOptions {
  readonly marker: string
  readonly maxChars: number
}

/** What each form leaves out, from the full to the shortest. */
const LADDER = ['nothing', 'fields', 'batches', 'objects', 'clusters'] as const
type Rung = (typeof LADDER)[number]

const LEFT_OUT: Readonly<Record<Rung, string>> = {
  nothing: '',
  fields: 'changed fields are left out',
  batches: 'changed fields and the machines of batches are left out',
  objects: 'objects and batches are left out',
  clusters: 'only totals and warnings are shown',
}

export function markdownOf(plan: PlanDocument, { marker, maxChars }: MarkdownOptions): string {
  for (const rung of LADDER) {
    const text = written(plan, marker, rung)
    if (text.length <= maxChars) return text
  }
  return shortest(plan, marker, maxChars)
}

function written(plan: PlanDocument, marker: string, rung: Rung): string {
  const parts = [
    head(plan, marker),
    red(plan, MOST_NAMED),
    loosenedBlock(plan, MOST_NAMED),
    oneWayBlock(plan, MOST_NAMED),
    returnsBlock(plan, MOST_NAMED),
    warningsBlock(plan),
    summary(plan),
    rung === 'clusters' ? '' : table(plan),
    whatChanges(plan.clusters),
    checkThis(plan.outlook, plan.oneWay),
    rung === 'nothing' || rung === 'fields' ? batches(plan) : '',
    rung === 'objects' || rung === 'clusters' ? '' : objects(plan, rung === 'nothing'),
    foot(plan, LEFT_OUT[rung]),
  ]
  return `${parts.filter((p) => p !== '').join('\n\n')}\n`
}

/** The first lines and the red block, truncated by whole lines: a fleet of a thousand clusters may have as many losses to list. */
function shortest(plan: PlanDocument, marker: string, maxChars: number): string {
  const end = foot(plan, 'all but the most important is left out')
  const lines = [head(plan, marker), red(plan, 1), loosenedBlock(plan, 1), oneWayBlock(plan, 1), summary(plan)]
    .filter((p) => p !== '')
    .join('\n\n')
    .split('\n')
  let text = ''
  for (const line of lines) {
    // A later line may still fit.
    if (text.length + line.length + end.length + 4 <= maxChars) text += `${line}\n`
  }
  return `${text}\n${end}\n`
}

const head = ({ commit, base, titles, against, isDirty, only }: PlanDocument, marker: string): string =>
  [
    `<!-- ${marker.replaceAll(/[^A-Za-z0-9 ./_-]/g, '')} -->`,
    `### kubenode plan · ${isDirty ? 'work tree on ' : ''}${titled(commit, titles?.commit)}${base === undefined ? '' : ` against ${against === undefined || base.startsWith(against) ? '' : `${code(against)} `}${titled(base, titles?.base)}`}${only === undefined ? '' : ` · only ${code(only)}, other clusters are left out`}`,
  ].join('\n')

/** Names of losses and problems before only their count is shown. */
const MOST_NAMED = 20

function red({ clusters, problems, outlook, prunes = NO_PRUNES }: PlanDocument, most: number): string {
  const named = (list: readonly string[]) => namedShortly(list, most)
  const lossy = worstFirst(clusters).flatMap((d) => lossLines(d, named))
  const lost = [...firstOf(lossy, most === 1 ? MOST_SHORTEST : lossy.length), ...heldLines(prunes, most)]
  const wrong = [...problems, ...clusters.flatMap((d) => d.problems.map((p) => `${d.cluster}: ${p}`))]
  const rest = wrong.length > most ? [`- ✖ and ${wrong.length - most} more problems`] : []
  const lines = [
    ...(lost.length === 0 ? [] : [`🔴 **This deletes**${deletedText(clusters)}`, ...lost]),
    ...(wrong.length === 0
      ? []
      : [
          '🔴 **This cannot be applied**',
          ...wrong.slice(0, most).map((p) => `- ✖ ${escaped(shortened(p, MOST_PROBLEM_CHARS))}`),
          ...rest,
        ]),
    ...heldBlock(outlook, most),
  ]
  return lines.join('\n')
}

/** These changes take effect later; the plan's numbers exclude them. */
function heldBlock(outlook: Outlook | undefined, most: number): readonly string[] {
  const held = outlook === undefined ? [] : heldTexts(outlook)
  const lines = held.map((text) => `- ✖ ${escaped(shortened(text, MOST_PROBLEM_CHARS))}`)
  return held.length === 0 ? [] : ['🔴 **A hold stops this**', ...firstOf(lines, most)]
}

/** A message may quote the commit's content. */
const MOST_PROBLEM_CHARS = 500

const deletedText = (clusters: readonly ClusterDifference[]): string => {
  const removed = clusters.reduce((n, d) => n + d.removed, 0)
  return removed === 0 ? '' : ` (${counted(removed, 'object')})`
}

/** In the shortest form: clusters listed with their losses. */
const MOST_SHORTEST = 3

/** After the red block and hardly folded: later commits meet fewer limits. */
function loosenedBlock({ loosened = [] }: PlanDocument, most: number): string {
  if (loosened.length === 0) return ''
  const lines = loosenedLines(loosened)
  const unnamed = unnamedIn(lines, { shown: most, named: MOST_ALIKE })
  const others = namedShortly(unnamed, most === 1 ? MOST_SHORTEST : MOST_UNNAMED)
  const rest = [
    ...(lines.length > most ? [`- ⚠ and ${lines.length - most} more`] : []),
    ...(unnamed.length > 0 ? [`- ⚠ also loosened: ${others}`] : []),
  ]
  return [
    '🟠 **This loosens what later commits must pass**',
    ...lines
      .slice(0, most)
      .map(
        ({ objects, clusters, text }) =>
          `- ⚠ ${namedShortly(objects, MOST_ALIKE)} in ${namedShortly(clusters, MOST_ALIKE)}: ${escaped(shortened(text, MOST_LOOSENED_CHARS))}`,
      ),
    ...rest,
  ].join('\n')
}

const namedShortly = (names: readonly string[], most: number): string => someOf(names.map(code), most)

function oneWayBlock({ oneWay = [] }: PlanDocument, most: number): string {
  if (oneWay.length === 0) return ''
  const lines = oneWayLines(oneWay, escaped).map((text) => `- ⚠ ${shortened(text, MOST_ONE_WAY_CHARS)}`)
  return ['🟠 **A revert does not take this back**', ...firstOf(lines, most)].join('\n')
}

function returnsBlock({ easyReturns = [] }: PlanDocument, most: number): string {
  if (easyReturns.length === 0) return ''
  const lines = oneWayLines(easyReturns, escaped).map((text) => `- ${shortened(text, MOST_ONE_WAY_CHARS)}`)
  return ['🟢 **This goes back without a loss**', ...firstOf(lines, most)].join('\n')
}

function warningsBlock({ warnings = [] }: PlanDocument): string {
  if (warnings.length === 0) return ''
  const lines = warnings.map((text) => `- ⚠ ${escaped(shortened(text, MOST_PROBLEM_CHARS))}`)
  return ['🟠 **This may be a mistake** (it can be applied)', ...firstOf(lines, MOST_WARNINGS)].join('\n')
}

/** Warnings often predate the commit, and must not push the rest out of sight. */
const MOST_WARNINGS = 5

/** The same may happen in many clusters. */
const MOST_ONE_WAY_CHARS = 500

/** Objects and clusters with the same effect. */
const MOST_ALIKE = 5
/** Names that no line has are listed at the end. */
const MOST_UNNAMED = 50

/** There may be many approvers. */
const MOST_LOOSENED_CHARS = 200

const NO_PRUNES: Prunes = { promised: [], unknown: [] }

function heldLines({ promised, unknown }: Prunes, most: number): readonly string[] {
  const more = promised.length > most ? [`- ✖ and ${promised.length - most} more that wait for an approval`] : []
  return [
    ...promised
      .slice(0, most)
      .map(
        (p) =>
          `- ✖ ${code(p.cluster)} ${escaped(guardText(p))}: ${code(approveCommand(p))} (${escaped(pruneDoubt(p))})`,
      ),
    ...more,
    ...unknownTexts(unknown).map((text) => `- ⚠ ${escaped(text)}`),
  ]
}

/** The hub first: it has the control planes. */
const worstFirst = (clusters: readonly ClusterDifference[]): readonly ClusterDifference[] =>
  clusters.toSorted(
    (a, b) =>
      Number(b.cluster === HUB_TARGET) - Number(a.cluster === HUB_TARGET) || b.machines.deleted - a.machines.deleted,
  )

function lossLines(difference: ClusterDifference, named: (l: readonly string[]) => string): string[] {
  const { cluster, machines, sets, single, objects } = lossOf(difference)
  const ofSets = sets.map((s) => `${s.set} (${s.deleted} of ${s.of})`)
  return [
    ...(machines === 0
      ? []
      : [`- ✖ **${counted(machines, 'machine')}** in ${code(cluster)}: ${named([...ofSets, ...single])}`]),
    ...uncountedTexts(difference).map((text) => `- ✖ in ${code(cluster)}: ${escaped(text)}`),
    ...(objects.length === 0 ? [] : [`- ✖ in ${code(cluster)}: ${named(objects)}`]),
    ...noteTexts(difference).map((left) => `- ⚠ ${code(cluster)} ${left}`),
  ]
}

function summary({ outlook, clusters, only }: PlanDocument): string {
  const changed = clusters.filter((d) => d.changes.length > 0)
  if (changed.length === 0) return `**Nothing changes in ${only === undefined ? 'any cluster' : code(only)}.**`
  if (outlook === undefined)
    return `**${counted(changed.length, 'cluster')} ${changed.length === 1 ? 'changes' : 'change'}.** Which machines that touches is not predicted: no inventory was given.`
  const { machines, clusters: known, batches: slices, drains, reboots, mostUnavailable, unknown } = outlook
  const rules = unpredictedRules(clusters)
  const within = known.filter((c) => c.prediction.machines.length > 0).length
  const moved = movedText(clusters)
  const held = whileHeld(outlook)
  const first =
    machines === 0
      ? `${moved === '' ? `**No machine is touched${held}**` : `**${moved}; no other machine is touched${held}**`} in ${counted(known.length, 'cluster')} with an inventory.`
      : `**${counted(machines, 'machine')} in ${counted(within, 'cluster')} · ${counted(slices, 'batch', 'batches')} · ${counted(drains, 'drain')} · ${counted(reboots, 'reboot')} · ${timeText(outlook)} · at most ${mostUnavailable} unavailable at once${moved === '' ? '' : ` · ${moved}`}**`
  return [
    first,
    riskLine(outlook),
    ...earlierTexts(outlook).map(sentenceOf),
    rules === '' ? '' : `⚠ ${escaped(rules)}.`,
    ...(unknown.length === 0 ? [] : [`⚠ Unknown: no inventory of ${unknown.map(code).join(', ')}.`]),
  ]
    .filter((l) => l !== '')
    .join('\n')
}

const sentenceOf = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const MARK = { Low: '🟢', Medium: '🟠', High: '🔴' } as const

function riskLine({ risk, approvals }: Outlook): string {
  const needed = approvalTexts(approvals).map(inMarkdown)
  // Stage gates need approvals whatever the commit does to machines.
  if (risk === undefined) return needed.length === 0 ? '' : `🟠 Needs ${needed.join('; ')}`
  return `${MARK[risk]} Risk **${risk.toLowerCase()}**${needed.length === 0 ? '' : ` → needs ${needed.join('; ')}`}`
}

function table({ outlook }: PlanDocument): string {
  const rows = outlook?.clusters.filter((c) => c.prediction.machines.length > 0) ?? []
  if (rows.length === 0) return ''
  return [
    '| stage | cluster | machines | batches | drains | reboots | time p50–p90 | binds first |',
    '|---|---|--:|---|--:|--:|---|---|',
    ...(outlook?.hub === undefined ? [] : [hubRow(outlook.hub)]),
    ...rows.map(
      ({ stage, prediction: p }) =>
        `| ${escaped(stage)} | ${escaped(p.cluster)} | ${p.machines.length} of ${p.of} | ${stepsText(p)} | ${p.drains} | ${p.reboots} | ${clusterTimeText(p)} | ${bindsFirst(p)} |`,
    ),
  ].join('\n')
}

const hubRow = ({ stage, objects, after }: HubTurn): string =>
  `| ${escaped(stage)} | hub | ${counted(objects, 'object')} | – | – | – | ${after === undefined ? 'first' : `after ${escaped(after)}`} | nothing |`

const MOST_BRAKE_CHARS = 120

const bindsFirst = ({ brakes }: ClusterPrediction): string => {
  const first = brakes.find(({ isWork }) => isWork !== true)
  return first === undefined
    ? 'nothing'
    : `${escaped(shortened(first.what, MOST_BRAKE_CHARS))}, ${minutesText(first.ms)}`
}

const details = (title: string, body: readonly string[]): string =>
  ['<details><summary>' + title + '</summary>', '', ...body, '', '</details>'].join('\n')

/** Batches listed per cluster; a table of thousands is unreadable. */
const MOST_BATCHES = 200

function batches({ outlook }: PlanDocument): string {
  const all = outlook?.clusters.filter((c) => c.prediction.slices.length > 0) ?? []
  return all
    .map(({ prediction: p }) => {
      const rows = p.slices
        .slice(0, MOST_BATCHES)
        .map(
          (s) =>
            `| ${s.step + 1} | ${s.number + 1} | ${escaped(s.component)} | ${s.machines.slice(0, 10).map(escaped).join(' ')}${s.machines.length > 10 ? ` … ${s.machines.length}` : ''} | ${s.drains ? s.machines.length : 0} | ${s.done === undefined ? 'unknown' : `+${minutesText(s.done)}`} |`,
        )
      const rest = p.slices.length > MOST_BATCHES ? [`and ${p.slices.length - MOST_BATCHES} more`] : []
      return details(`Batches of ${escaped(p.cluster)} (${counted(p.machines.length, 'machine')})`, [
        '| step | batch | component | machines | drains | ends about |',
        '|--:|--:|---|---|--:|--:|',
        ...rows,
        ...(rest.length === 0 ? [] : ['', ...rest]),
      ])
    })
    .join('\n\n')
}

function objects({ clusters }: PlanDocument, hasFields: boolean): string {
  const groups = groupsOf(clusters.filter((d) => d.changes.length > 0))
  return groups
    .map((group) => {
      const [first] = group
      if (first === undefined) return ''
      const names = group.map((d) => escaped(d.cluster)).join(', ')
      const each = group.length === 1 ? '' : ` in each of ${counted(group.length, 'cluster')}`
      return details(
        `Objects: ${first.added} to add, ${first.changed} to change, ${first.removed} to remove${each} (${names})`,
        ['```diff', ...first.changes.flatMap((c) => objectLines(c, hasFields)), '```'],
      )
    })
    .join('\n\n')
}

const SIGN = { added: '+', changed: '!', removed: '-' } as const
const MOST_FIELDS = 20

/** Inside a fence, only the fence itself could end it. */
const fenced = (text: string): string => shownPart(text).replaceAll('```', "'''")

function objectLines({ change, object, fields, more }: ObjectChange, hasFields: boolean): readonly string[] {
  const line = `${SIGN[change]} ${fenced(object)}`
  if (!hasFields) return [line]
  const shown = fields
    .slice(0, MOST_FIELDS)
    .flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [`-   ${fenced(`${path}: ${JSON.stringify(before)}`)}`]),
      ...(after === undefined ? [] : [`+   ${fenced(`${path}: ${JSON.stringify(after)}`)}`]),
      ...(before === undefined && after === undefined ? [`!   ${fenced(path)}: (not shown)`] : []),
    ])
  const rest = more + fields.length - Math.min(fields.length, MOST_FIELDS)
  return [line, ...shown, ...(rest === 0 ? [] : [`    and ${rest} more fields`])]
}

/** The same plan again: without a base, that of the commit's first parent. */
function commandOf({ commit, base, against, isDirty, only }: PlanDocument): string {
  const range = base === undefined || against === undefined ? undefined : `${shortCommit(base)}..${shortCommit(commit)}`
  const what = isDirty ? '--dirty' : (range ?? `--commit ${shortCommit(commit)}`)
  return `kubenode plan ${what}${only === undefined ? '' : ` --cluster ${only}`}`
}

function foot(plan: PlanDocument, leftOut: string): string {
  const { outlook, digest, version } = plan
  const times = (outlook?.clusters ?? []).map((c) => `${c.prediction.cluster} ${c.prediction.takenAt}`)
  const inventories =
    times.length === 0
      ? ''
      : `inventory of ${times.slice(0, 5).map(escaped).join(', ')}${times.length > 5 ? ', …' : ''} · `
  return `<sub>${leftOut === '' ? '' : `too long for one comment: ${leftOut} · `}${inventories}plan digest \`${digest}\` · kubenode ${escaped(version)} · ${code(commandOf(plan))}</sub>`
}
