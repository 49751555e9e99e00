// A report for a terminal, for a spreadsheet, and for a page of text. Pure.
import { timestamp } from '#lib/clock.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import type { Report, Section } from './report.ts'

const DAY = 10

export const rangeText = ({ from, to }: Pick<Report, 'from' | 'to'>): string =>
  `${timestamp(from).slice(0, DAY)} to ${timestamp(to).slice(0, DAY)}`

/** Begins a sentence. */
export const placeText = ({ cluster, clusters }: Pick<Report, 'cluster' | 'clusters'>): string =>
  clusters === undefined ? `Cluster ${cluster}` : `Clusters ${clusters.join(', ')}`

export function tableText(report: Report, width: number | undefined): string {
  const { title, cluster, headline, sections, unknown } = report
  const parts = sections.map((s) => `${s.title}\n${tableOf(s, width)}`)
  const gaps = unknown.length === 0 ? [] : [`Not known\n${unknown.map((u) => `  ${u}`).join('\n')}`]
  return `${[`${title} of ${cluster}, ${rangeText(report)}\n${headline.text}`, ...parts, ...gaps].join('\n\n')}\n`
}

const tableOf = ({ columns, rows }: Section, width: number | undefined): string =>
  rows.length === 0
    ? '  none'
    : alignedRows([columns.map((c) => c.toUpperCase()), ...rows.map((row) => row.map((c) => c.text))], width)

export const jsonText = (report: Report): string => {
  const { from, to, sections, ...rest } = report
  return `${JSON.stringify(
    {
      ...rest,
      from: timestamp(from),
      to: timestamp(to),
      sections: sections.map(({ title, columns, rows }) => ({
        title,
        columns,
        rows: rows.map((row) => row.map((c) => c.value)),
      })),
    },
    null,
    2,
  )}\n`
}

/** A cell that begins as a formula would be one in a spreadsheet. */
const csvCell = (value: number | string | null): string => {
  const text =
    value === null ? '' : typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** One line a cell, so that tables with different columns are one file. What is not known is empty. */
export function csvText({ sections }: Report): string {
  const lines = sections.flatMap(({ title, columns, rows }) =>
    rows.flatMap((row, n) => row.map((cell, i) => [title, n + 1, columns[i] ?? '', cell.value].map(csvCell).join(','))),
  )
  return `${['section,row,column,value', ...lines].join('\n')}\n`
}

const markdownCell = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll(/\s+/g, ' ')

export function markdownText(report: Report): string {
  const { title, headline, sections, unknown } = report
  const line = (cells: readonly string[]): string => `| ${cells.map(markdownCell).join(' | ')} |`
  const parts = sections.map(({ title: name, about, columns, rows }) =>
    [
      `## ${name}`,
      about,
      rows.length === 0
        ? 'None.'
        : [
            line(columns),
            `|${columns.map(() => '---').join('|')}|`,
            ...rows.map((r) => line(r.map((c) => c.text))),
          ].join('\n'),
    ].join('\n\n'),
  )
  const gaps = unknown.length === 0 ? [] : [`## Not known\n\n${unknown.map((u) => `- ${markdownCell(u)}`).join('\n')}`]
  return `${[`# ${title}`, `${markdownCell(placeText(report))}, ${rangeText(report)}. **${headline.text}**`, ...parts, ...gaps].join('\n\n')}\n`
}
