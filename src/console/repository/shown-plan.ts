// A plan for the console page: the terminal's sentences, in bounded parts. Pure.
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { someOf } from '#lib/some-of.ts'
import type { CertainPlan, DiffLine, PlannedClusters, PlannedObject, PredictedPlan, RedLine } from '../plan.ts'
import { withReadableNames } from '#explain/readable-names.ts'
import { levelOf } from '#declared/problem.ts'
import type { Commit } from '#sync/git/repository.ts'
import { type ClusterDifference, noteTexts, type ObjectChange } from '#sync/difference.ts'
import { problemText } from '#sync/render/problems.ts'
import { contentLines, type ContentLine } from '#forecast/plan/content.ts'
import type { MadePlan } from '#forecast/plan/make-plan.ts'
import { approveCommand, guardText, pruneDoubt, unknownTexts } from '#forecast/plan/prunes.ts'
import { minutesText } from '#forecast/plan/minutes.ts'
import { oneWayLines, clusterTimeText, stepsText, summaryText } from '#forecast/plan/spans.ts'
import { loosenedLines } from '#forecast/plan/loosened-lines.ts'
import { groupsOf } from '#forecast/plan/losses.ts'
import { fieldText, lossTexts, outlookLines } from '#forecast/plan/text.ts'

/** A page with more is unreadable; the terminal has all. */
const MOST_OBJECTS = 200
const MOST_FIELDS = 12
const MOST_LINES = 2_000
const MOST_LINE_CHARS = 2_000
const MOST_PROBLEMS = 100
/** Objects and clusters with the same effect. */
const MOST_NAMED = 5

export interface AboutCommit extends Pick<Commit, 'author' | 'time' | 'message'> {
  readonly signature?: string
}

export function certainPlan(made: MadePlan, about: AboutCommit): CertainPlan {
  const { commit, base, shown, digest, outlook, loosened, oneWay, easyReturns } = made
  const [subject = ''] = about.message.split('\n', 1)
  return {
    commit,
    ...defined({ base }),
    subject: printableLine(subject),
    author: printableLine(about.author),
    at: about.time * 1_000,
    summary: summaryText(shown, outlook, loosened),
    digest,
    ...defined({ signature: about.signature }),
    red: redLines(made),
    orange: [
      ...shown.flatMap((d) => noteTexts(d).map((text) => `${d.cluster} ${text}`)),
      ...loosenedLines(loosened).map(
        ({ objects, clusters, text }) =>
          `Loosens ${someOf(objects, MOST_NAMED)} in ${someOf(clusters, MOST_NAMED)}: ${text}`,
      ),
      ...oneWayLines(oneWay).map((text) => `git revert does not take this back: ${text}`),
      ...oneWayLines(easyReturns).map((text) => `goes back without a loss: ${text}`),
    ].map(sentence),
    clusters: groupsOf(shown).flatMap((group) => clustersOf(group, made)),
  }
}

/** "machine n-9" for Machine.kubenode.io/n-9. */
const sentence = (text: string): string => withReadableNames(printableLine(text))

function redLines({ shown, prunes, after }: MadePlan): readonly RedLine[] {
  const losses = shown.flatMap((d) => lossTexts(d).map((text) => ({ text: `${d.cluster}: ${text}` })))
  const promised = (prunes?.promised ?? []).map((p) => ({
    text: `${p.cluster}: ${guardText(p)} (${pruneDoubt(p)})`,
    command: approveCommand(p),
  }))
  const unknown = unknownTexts(prunes?.unknown ?? []).map((text) => ({ text }))
  const problems = after.problems
    .filter((p) => levelOf(p) !== 'note')
    .map((p) => ({ text: `${levelOf(p)}: ${problemText(p)}` }))
  const invalid = shown.flatMap((d) => d.problems.map((text) => ({ text: `${d.cluster}: ${text}` })))
  return [...losses, ...promised, ...unknown, ...[...problems, ...invalid].slice(0, MOST_PROBLEMS)].map(
    (line: RedLine) => ({ ...line, text: sentence(line.text) }),
  )
}

/** Clusters without a change have nothing to draw. */
function clustersOf(group: readonly ClusterDifference[], { before, after }: MadePlan): readonly PlannedClusters[] {
  const [first] = group
  if (first === undefined || first.changes.length === 0) return []
  const { cluster, added, changed, removed, unchanged, changes } = first
  const lines = contentLines(first, before.get(cluster), after.targets.get(cluster))
  return [
    {
      id: cluster,
      clusters: group.map((d) => d.cluster),
      added,
      changed,
      removed,
      unchanged,
      objects: changes.slice(0, MOST_OBJECTS).map(objectOf),
      moreObjects: Math.max(0, changes.length - MOST_OBJECTS),
      lines: lines.slice(0, MOST_LINES).map(lineOf),
      moreLines: Math.max(0, lines.length - MOST_LINES),
    },
  ]
}

const objectOf = ({ change, object, fields, more }: ObjectChange): PlannedObject => ({
  change,
  object: printableLine(object),
  fields: fields.slice(0, MOST_FIELDS).map((f) => printableLine(fieldText(f, true).trim())),
  more: more + Math.max(0, fields.length - MOST_FIELDS),
})

const TONES: Readonly<Partial<Record<NonNullable<ContentLine['tone']>, DiffLine['tone']>>> = {
  strong: 'head',
  dim: 'place',
  good: 'added',
  bad: 'removed',
}

const lineOf = ({ tone, text }: ContentLine): DiffLine => ({
  tone: (tone !== undefined && TONES[tone]) || 'same',
  text: printableLine(text).trimEnd().slice(0, MOST_LINE_CHARS),
})

/** Undefined if nothing was predicted. */
export function predictedPlan({ outlook, oneWay, shown }: MadePlan, takenAt: number): PredictedPlan | undefined {
  if (outlook === undefined) return undefined
  const lines = outlookLines(outlook, oneWay, shown)
  const texts = (is: (typeof lines)[number]['is']) => lines.filter((l) => l.is === is).map((l) => printableLine(l.text))
  return {
    takenAt,
    sentence: texts('Head')[0] ?? '',
    clusters: outlook.clusters
      .filter((c) => c.prediction.machines.length > 0)
      .map(({ stage, prediction: p }) => ({
        id: p.cluster,
        stage,
        cluster: p.cluster,
        machines: p.machines.length,
        of: p.of,
        steps: stepsText(p),
        drains: p.drains,
        reboots: p.reboots,
        time: clusterTimeText(p),
        ...(p.brakes[0] !== undefined && { slowedBy: `${p.brakes[0].what} (${minutesText(p.brakes[0].ms)})` }),
      })),
    warnings: texts('Warning'),
    notes: texts('Note'),
  }
}
