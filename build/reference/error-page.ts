// The page of all numbered errors, and the range of numbers that each part has.
import { entriesOf } from '#cli/error-parts.ts'
import type { ErrorPart } from '#programs/error-parts.ts'

export const BENCH_PART = { thousands: 9, name: 'test bench' } as const

export const ERROR_PAGE = 'docs/reference/errors.md'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;')

export function errorPage(parts: readonly ErrorPart[]): string {
  const sections = parts.map((part) => {
    const rows = entriesOf(part).map(({ code, text, next }) => `| ${code} | ${cell(text)} | ${cell(next)} |`)
    const title = `${part.name[0]?.toUpperCase()}${part.name.slice(1)} (KN${part.thousands}xxx)`
    return [`## ${title}`, '', '| number | message | what to do |', '| --- | --- | --- |', ...rows].join('\n')
  })
  return `${[
    '# Errors',
    '<!-- Generated from the error tables in src by npm run gen. -->',
    'Every error of KubeNode has a number that does not change. Words in braces are placeholders for observed values. ' +
      'The message is followed by what to do next; findings of `kubenode lint` add the place in the file.',
    ...sections,
  ].join('\n\n')}\n`
}
