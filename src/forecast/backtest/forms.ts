// Prints a comparison as text, as a comment on a pull request, or as a test report. Pure.
import { printableLine, shownLines } from '#lib/printable.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { code, escaped } from '../plan/markdown-text.ts'
import type { Findings, Table } from './findings.ts'

export function terminalText(found: Findings, width: number | undefined): string {
  const tables = found.tables.map(
    ({ title, columns, rows }) =>
      `${printableLine(title)}\n${alignedRows([columns.map((c) => c.toUpperCase()), ...rows.map((row) => row.map(printableLine))], width, { isWhole: true })}`,
  )
  const examples = found.examples.map(({ title, lines }) =>
    shownLines([title, ...lines.flatMap(({ what, command }) => [`  ${what}`, `    ${command}`])]).trimEnd(),
  )
  const gates = found.gates.length === 0 ? [] : [shownLines(['Gates', ...found.gates.map((g) => `  ${g}`)]).trimEnd()]
  const head = shownLines([found.title, found.about, '', found.calibration]).trimEnd()
  const doubts = found.doubts.length === 0 ? [] : [shownLines(found.doubts).trimEnd()]
  return `${[head, ...doubts, ...tables.map((t) => t.trimEnd()), ...examples, shownLines(found.notes).trimEnd(), ...gates].join('\n\n')}\n`
}

/** Fits into a comment: tables first, examples folded. */
export function markdownOf(found: Findings, marker: string): string {
  const verdict = !found.isTrusted ? '✖ Not to be trusted' : found.gates.length > 0 ? '✖ Refused' : '✔ Passes its gates'
  const examples = found.examples.flatMap(({ title, lines }) => [
    `<details><summary>${escaped(title)}</summary>`,
    '',
    ...lines.map(({ what, command }) => `- ${escaped(what)}: ${code(command)}`),
    '',
    '</details>',
    '',
  ])
  return `${[
    `<!-- ${marker} -->`,
    `## ${escaped(found.title)}`,
    '',
    `**${verdict}**`,
    '',
    ...found.gates.map((g) => `- ${escaped(g)}`),
    ...(found.gates.length > 0 ? [''] : []),
    escaped(found.about),
    '',
    escaped(found.calibration),
    '',
    ...found.doubts.map((d) => `- ⚠ ${escaped(d)}`),
    ...(found.doubts.length > 0 ? [''] : []),
    ...found.tables.flatMap(markdownTable),
    ...examples,
    ...found.notes.map((note) => `<sub>${escaped(note)}</sub>`),
  ].join('\n')}\n`
}

export const markdownTable = ({ title, columns, rows }: Table): readonly string[] => [
  `**${escaped(title)}**`,
  '',
  `| ${columns.map(escaped).join(' | ')} |`,
  `| ${columns.map(() => '---').join(' | ')} |`,
  ...rows.map((row) => `| ${row.map(escaped).join(' | ')} |`),
  '',
]

export const xmlText = (text: string): string =>
  text
    .replaceAll(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`)
    .replaceAll(/[^\t\n\u0020-\uD7FF\uE000-\uFFFD]/gu, '\ufffd')

/** A test for the calibration and one for each gate, as CI systems show them. */
export function junitOf(found: Findings, gates: readonly string[]): string {
  const failed = (name: string): string | undefined => found.gates.find((text) => text.startsWith(`${name} (`))
  const cases = [
    { name: 'calibration', failure: found.isTrusted ? undefined : found.calibration },
    ...gates.map((name) => ({ name, failure: failed(name) })),
  ]
  const skipped = (name: string) => (!found.isTrusted && name !== 'calibration' ? '<skipped/>' : '')
  const lines = cases.map(
    ({ name, failure }) =>
      `  <testcase classname="kubenode rules backtest" name="${xmlText(name)}">${failure === undefined ? skipped(name) : `<failure message="${xmlText(failure)}"/>`}</testcase>`,
  )
  const failures = cases.filter((c) => c.failure !== undefined).length
  return `${[
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${xmlText(found.title)}" tests="${cases.length}" failures="${failures}">`,
    ...lines,
    '</testsuite>',
  ].join('\n')}\n`
}
