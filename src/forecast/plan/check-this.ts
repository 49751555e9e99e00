// The part of a Markdown plan that lists the obstacles a prediction found. Pure. Inventory texts may be of any length and number, so each is truncated.
import type { OneWay } from '../one-way.ts'
import { outlookFindings, type PlanFinding } from './findings.ts'
import { firstOf, inMarkdown } from './markdown-text.ts'
import { type Outlook, windowTexts } from './outlook.ts'

/** Per kind of finding. */
const MOST_LINES = 8

/** Shown elsewhere in the comment: holds in red, approvals next to the risk, missing inventories and earlier predictions in the summary. */
const ELSEWHERE: ReadonlySet<PlanFinding['kind']> = new Set(['Held', 'Approval', 'Earlier', 'NoInventory'])

export function checkThis(outlook: Outlook | undefined, oneWay: readonly OneWay[] | undefined): string {
  if (outlook === undefined || outlook.machines + outlook.clusters.length + windowTexts(outlook).length === 0) return ''
  const found = outlookFindings(outlook, oneWay).filter(({ kind }) => !ELSEWHERE.has(kind))
  const lines = [...Map.groupBy(found, ({ kind }) => kind).values()].flatMap((of) =>
    firstOf(of.map(lineOf), MOST_LINES, '⚠'),
  )
  return lines.length === 0 ? '' : ['**Check this**', ...lines].join('\n')
}

const lineOf = ({ kind, level, words }: PlanFinding): string =>
  `- ${kind === 'WayBack' ? '↩' : level === 'Stops' ? '✖' : '⚠'} ${inMarkdown(words)}`
