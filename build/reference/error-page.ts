// The page of all numbered errors, one section for each range of numbers.
import type { Advice } from '#explain/errors/advice.ts'

export const ERROR_PAGE = 'docs/reference/errors.md'

export const BENCH_PART = 'test bench'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const capital = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`

export function errorPage(advice: Advice, parts: Readonly<Record<number, string>>): string {
  const numbers = Object.entries(advice).toSorted(([a], [b]) => Number(a.slice(2)) - Number(b.slice(2)))
  const sections = Object.entries(parts).map(([thousands, name]) => {
    const rows = numbers
      .filter(([code]) => Math.floor(Number(code.slice(2)) / 1_000) === Number(thousands))
      .map(([code, a]) => `| ${code} | ${cell(a.cause)} | ${cell(a.check)} | ${cell(a.do)} |`)
    return [
      `## ${capital(name)} (KN${thousands}xxx)`,
      '',
      '| number | cause | check | do |',
      '| --- | --- | --- | --- |',
      ...rows,
    ].join('\n')
  })
  return `${[
    '# Errors',
    '<!-- Generated from src/explain/errors by npm run gen. -->',
    'A number means one thing to do. The message beside it names the object and what was observed; messages that ask for ' +
      'the same have the same number. `kubenode explain KN1120` prints a row of this page.',
    ...sections,
  ].join('\n\n')}\n`
}
