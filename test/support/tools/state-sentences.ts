// Finds sentences about the state of an object: texts that are put together from a field in which statuses keep their state.
import { parseAst } from 'rolldown/parseAst'

/** Where statuses say how an object is, what it waits for, and why. A face hands these on as data, or asks `src/explain` for the words. */
const STATE_FIELDS: ReadonlySet<string> = new Set([
  'conditions',
  'outcome',
  'phase',
  'predicate',
  'renderErrors',
  'seen',
  'unblock',
  'verdict',
  'verdicts',
  'waitingFor',
])

interface StateSentence {
  readonly line: number
  /** The field that it is about. */
  readonly field: string
}

type Tree = Readonly<Record<string, unknown>>
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null

/** The first state field that is named anywhere in an expression. */
function fieldIn(node: unknown): string | undefined {
  if (Array.isArray(node)) return firstOf(node)
  if (!isTree(node)) return undefined
  if (node['type'] === 'Identifier') return STATE_FIELDS.has(String(node['name'])) ? String(node['name']) : undefined
  // `conditions['Ready']` is written with the name as a text.
  if (node['type'] === 'Literal') return STATE_FIELDS.has(String(node['value'])) ? String(node['value']) : undefined
  return firstOf(Object.entries(node).flatMap(([key, child]) => (key === 'type' ? [] : [child])))
}

function firstOf(nodes: readonly unknown[]): string | undefined {
  for (const node of nodes) {
    const found = fieldIn(node)
    if (found !== undefined) return found
  }
  return undefined
}

const isWords = (node: unknown): boolean =>
  isTree(node) && node['type'] === 'Literal' && typeof node['value'] === 'string' && /[a-z]{2}/i.test(node['value'])

/** Names and members alone: what is inside of a call is drawn by what is called. */
const isValue = (node: unknown): boolean =>
  isTree(node) && ['Identifier', 'MemberExpression', 'ChainExpression'].includes(String(node['type']))

/** Words and values side by side, as in a list that is joined, or as the children of an element. */
const besideWords = (nodes: readonly unknown[]): readonly unknown[] | undefined =>
  nodes.some(isWords) ? nodes.filter(isValue) : undefined

/** Of `h('p', {}, …)`: its tag and its properties come first. */
const FIRST_CHILD = 2

/** A template with something between its values, a sum of texts, or words and values side by side: `${a}/${b}` alone is a key. */
function partsOf(node: Tree): readonly unknown[] | undefined {
  if (node['type'] === 'ArrayExpression') return besideWords(node['elements'] as unknown[])
  if (node['type'] === 'CallExpression') {
    const { callee, arguments: given } = node as { readonly callee: Tree; readonly arguments: readonly unknown[] }
    return callee['type'] === 'Identifier' && callee['name'] === 'h' ? besideWords(given.slice(FIRST_CHILD)) : undefined
  }
  if (node['type'] === 'TemplateLiteral') {
    const quasis = node['quasis'] as readonly { readonly value: { readonly cooked: string | null } }[]
    return quasis.some(({ value }) => /[a-z ]/i.test(value.cooked ?? ''))
      ? (node['expressions'] as unknown[])
      : undefined
  }
  if (node['type'] === 'BinaryExpression' && node['operator'] === '+') return besideWords([node['left'], node['right']])
  return undefined
}

export function stateSentencesIn(code: string): readonly StateSentence[] {
  const found: StateSentence[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (!isTree(node)) return
    const field = firstOf(partsOf(node) ?? [])
    if (field !== undefined) found.push({ line: code.slice(0, Number(node['start'])).split('\n').length, field })
    else for (const [key, child] of Object.entries(node)) if (key !== 'type' && isTree(child)) visit(child)
  }
  visit(parseAst(code, { lang: 'ts' }))
  return found.toSorted((a, b) => a.line - b.line)
}
