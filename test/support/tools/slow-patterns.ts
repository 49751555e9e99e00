// Finds regular expressions whose time grows faster than their text: a stranger's text of a megabyte then takes minutes, in which the process does nothing else.
import { parseSync } from 'rolldown/utils'
import { analyse } from 'scslre'

export interface SlowPattern {
  readonly line: number
  readonly pattern: string
}

interface Literal {
  readonly start: number
  readonly regex: { readonly pattern: string; readonly flags: string }
}

/** Literals only: a pattern that is made at run time is compiled by RE2. */
export function slowPatternsIn(path: string, code: string): readonly SlowPattern[] {
  const { program, errors } = parseSync(path, code)
  if (errors.length > 0) throw new Error(`cannot read ${path}: ${errors[0]?.message ?? ''}`)
  return [...literalsBelow(program)]
    .filter(({ regex }) => isSlow(regex.pattern, regex.flags))
    .map(({ start, regex }) => ({
      line: code.slice(0, start).split('\n').length,
      pattern: `/${regex.pattern}/${regex.flags}`,
    }))
}

const isLiteral = (syntax: object): syntax is Literal =>
  'type' in syntax && syntax.type === 'Literal' && 'regex' in syntax && syntax.regex !== undefined

function* literalsBelow(syntax: unknown): Generator<Literal> {
  if (typeof syntax !== 'object' || syntax === null) return
  if (isLiteral(syntax)) yield syntax
  for (const below of Object.values(syntax)) yield* literalsBelow(below)
}

const known = new Map<string, boolean>()

/** Also one that is slow only because it begins again at each character, such as /-+$/. */
function isSlow(pattern: string, flags: string): boolean {
  const key = `${flags}/${pattern}`
  const before = known.get(key)
  if (before !== undefined) return before
  // A sticky pattern begins at one place; the analysis knows no other flag that changes its answer.
  const { reports } = analyse(
    { source: pattern, flags: flags.replace('y', '') },
    { reportTypes: { Move: !flags.includes('y'), Self: true, Trade: true }, assumeRejectingSuffix: false },
  )
  known.set(key, reports.length > 0)
  return reports.length > 0
}
