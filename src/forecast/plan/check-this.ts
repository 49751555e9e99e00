// The part of a plan in Markdown that names what a prediction found in the way. Pure. Texts of an inventory may be of any length and number, so each is cut.
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { OneWay } from '../one-way.ts'
import { code, escaped, firstOf } from './markdown-text.ts'
import { minutesText } from './minutes.ts'
import { delayTexts, type Outlook, windowTexts } from './outlook.ts'
import { bookedTexts, staleText } from './spans.ts'
import { someOf } from '#lib/some-of.ts'

/** Of one kind of finding. */
const MOST_LINES = 8
const MOST_CHARS = 400
const MOST_NAMED = 5

const cut = (text: string): string => escaped(shortened(text, MOST_CHARS))

export function checkThis(outlook: Outlook | undefined, oneWay: readonly OneWay[] | undefined): string {
  if (outlook === undefined || outlook.machines + outlook.clusters.length + windowTexts(outlook).length === 0) return ''
  const all = outlook.clusters.map((c) => c.prediction)
  const findings: readonly (readonly string[])[] = [
    (outlook.stale ?? []).map((s) => `- ⚠ ${cut(staleText(s))}`),
    [...delayTexts(outlook), ...windowTexts(outlook)].map((text) => `- ⚠ ${cut(text)}`),
    all.flatMap(({ cluster, stuck }) =>
      stuck.map((s) => `- ✖ ${code(cluster)}: set ${code(s.set)} does not finish: ${cut(s.wait.seen)}`),
    ),
    outlook.uncovered.map(
      (u) =>
        `- ⚠ hardware class ${code(u.class === '' ? '(none)' : u.class)} (${counted(u.machines, 'machine')} in ${code(u.cluster)}) is in no machine of an earlier stage: first tried on ${code(u.first)}`,
    ),
    all.flatMap(({ cluster, fullBudgets }) =>
      fullBudgets.map(
        (b) =>
          `- ⚠ PDB ${code(`${b.namespace}/${b.name}`)} in ${code(cluster)} lets no pod go now: drains of ${counted(b.nodes.length, 'node')} would wait`,
      ),
    ),
    all.flatMap(skippedLines),
    all.flatMap((p) => bookedTexts(p).map((text) => `- ⚠ ${code(p.cluster)}: ${cut(text)}`)),
    all.flatMap(({ cluster, underWay }) =>
      underWay.length === 0 ? [] : [`- ⚠ already on their way in ${code(cluster)}: ${named(underWay)}`],
    ),
    [...new Set(all.flatMap((p) => p.untimed))].map(
      (c) => `- ⚠ no recorded duration of ${code(c)}: five minutes a machine are assumed`,
    ),
    [...new Set(all.flatMap((p) => p.assumed))].map((a) => `- ⚠ assumed: ${cut(a)}`),
    outlook.machines === 0 ? [] : [wayBackLine(outlook, oneWay)],
  ]
  const lines = findings.flatMap((of) => firstOf(of, MOST_LINES, '⚠'))
  return lines.length === 0 ? '' : ['**Check this**', ...lines].join('\n')
}

function skippedLines({ cluster, skipped }: ClusterPrediction): readonly string[] {
  if (skipped.length === 0) return []
  const first = skipped.slice(0, 3).map((s) => `${code(s.machine)} (${cut(s.reason)})`)
  const are = counted(skipped.length, 'machine is', 'machines are')
  return [`- ✖ ${are} skipped in ${code(cluster)}: ${first.join(', ')}${skipped.length > 3 ? ', …' : ''}`]
}

const named = (list: readonly string[]): string => someOf(list.map(code), MOST_NAMED)

const wayBackLine = ({ wayBack }: Outlook, oneWay: readonly OneWay[] | undefined): string =>
  `- ↩ Way back: \`git revert\`, ${wayBack === undefined ? 'duration unknown' : `about ${minutesText(wayBack)}`}${oneWay?.length === 0 ? '; nothing here is irreversible' : ''}`
