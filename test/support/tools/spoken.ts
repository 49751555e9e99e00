// Finds every sentence that the product shows: string and template literals of `src/` that read as words. Each `${…}` becomes `{}`.
import { parseAst } from 'rolldown/parseAst'

export interface Spoken {
  readonly line: number
  readonly text: string
}

/** Two words at least, one of them lower-case and of three letters: identifiers, paths, selectors and SQL are no sentences. */
const LIKE_WORDS = /(^|[\s"'(])[A-Za-z][a-z']*[,;:.]?\s+([^\s]+\s+)*?[a-z']{2,}/
const NO_SENTENCE =
  /^(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|DROP|ALTER|BEGIN|WITH|import|export)\b|^\s*[{<[]|=>|^--|^#!/

type Tree = Readonly<Record<string, unknown>>
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null

/** Literals in types, imports and comparisons are shown to no one. */
const SILENT_PARENTS = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TSLiteralType', 'TSTemplateLiteralType'])

function textOf(node: Tree): string | undefined {
  if (node['type'] === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined
  if (node['type'] !== 'TemplateLiteral') return undefined
  const quasis = node['quasis'] as readonly { readonly value: { readonly cooked: string | null } }[]
  return quasis.map((q) => q.value.cooked ?? '').join('{}')
}

/** A template with a value and one word beside it is shown to people as often as not: `is {}`, `{} may`. */
const VALUE_AND_WORD = /(^|\{\}.* )[a-z]{2,}( .*\{\}|$)/

export const isSentence = (text: string): boolean =>
  (LIKE_WORDS.test(text) || (text.includes('{}') && VALUE_AND_WORD.test(text))) && !NO_SENTENCE.test(text)

export function spokenIn(code: string): readonly Spoken[] {
  const starts = [0, ...[...code.matchAll(/\n/g)].map((m) => m.index + 1)]
  const lineAt = (offset: number): number => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
  const found: Spoken[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (!isTree(node) || SILENT_PARENTS.has(String(node['type']))) return
    const text = textOf(node)
    if (text !== undefined && isSentence(text)) found.push({ line: lineAt(Number(node['start'])), text })
    for (const [key, child] of Object.entries(node)) if (key !== 'type' && isTree(child)) visit(child)
  }
  visit(parseAst(code, { lang: 'ts' }))
  return found.toSorted((a, b) => a.line - b.line)
}
