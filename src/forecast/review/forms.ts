// Prints a review as text or as a comment on a pull request. Pure.
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { wrapped } from '#lib/terminal/wrap.ts'
import { markdownTable } from '../backtest/forms.ts'
import { code, escaped } from '../plan/markdown-text.ts'
import type { ReviewFinding, ReviewFindings } from './findings.ts'

/** Of a pipe. */
const COLUMNS = 80

interface Alike extends Pick<ReviewFinding, 'next' | 'command'> {
  readonly all: readonly ReviewFinding[]
}

/** The same next step is said once, below all that it is for. They keep their order, which is the worst first. */
const byNext = ({ findings }: ReviewFindings): readonly Alike[] =>
  [...Map.groupBy(findings, ({ kind, next, command }) => JSON.stringify([kind, next, command])).values()].flatMap(
    (all) => all.slice(0, 1).map(({ next, command }) => ({ all, next, ...defined({ command }) })),
  )

export function reviewText(review: ReviewFindings, width: number | undefined): string {
  const prose = (text: string): string => wrapped(printableLine(text), width ?? COLUMNS).join('\n')
  const findings = byNext(review).map(({ all, next, command }) =>
    [
      ...all.map(({ of, name, what }) => prose(`${of} ${name} ${what}`)),
      prose(`  Next: ${next}`),
      ...(command === undefined ? [] : [`    ${printableLine(command)}`]),
    ].join('\n'),
  )
  const tables = review.tables.map(({ title, columns, rows }) => {
    const cells = [columns.map((c) => c.toUpperCase()), ...rows.map((row) => row.map(printableLine))]
    return `${title}\n${alignedRows(cells, width)}`
  })
  const head = `${prose(review.title)}\n${prose(review.about)}`
  return `${[head, review.headline, ...findings, ...tables, review.notes.map(prose).join('\n')].join('\n\n')}\n`
}

export function reviewMarkdown(review: ReviewFindings): string {
  return `${[
    '<!-- kubenode-review -->',
    `## ${escaped(review.title)}`,
    '',
    escaped(review.about),
    '',
    `**${review.headline}**`,
    '',
    ...byNext(review).map(({ all, next, command }) => {
      const items = all.map(({ of, name, what }) => `- ${of} ${code(name)} ${escaped(what)}`).join('\n')
      return `${items}  \n  Next: ${escaped(next)}${command === undefined ? '' : ` ${code(command)}`}`
    }),
    ...(review.findings.length > 0 ? [''] : []),
    ...review.tables.flatMap(markdownTable),
    ...review.notes.map((note) => `<sub>${escaped(note)}</sub>`),
  ].join('\n')}\n`
}
