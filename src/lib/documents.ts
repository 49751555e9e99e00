// Reads YAML and JSON documents that people or strangers wrote: bounded, with the place of every value, never guessing.
// Keys such as __proto__ come out as plain data; duplicate keys, aliases that explode and numbers that cannot be kept are problems.
import { LineCounter, isAlias, isCollection, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml'
import type { Document, Node } from 'yaml'
import { isDeeperThan } from './json.ts'

export interface Place {
  readonly line: number
  readonly column: number
}

export interface DocumentProblem extends Place {
  readonly message: string
}

export interface ParsedDocument {
  readonly value: unknown
  /** Where the value at a JSON pointer stands; for a missing one, its nearest parent. */
  placeOf(pointer: string): Place
}

export interface ParsedText {
  readonly documents: readonly ParsedDocument[]
  readonly problems: readonly DocumentProblem[]
}

/** Larger files are generated ones; a person who meets this splits them. */
export const MAX_TEXT_BYTES = 32 * 1024 * 1024
export const MAX_DOCUMENTS = 20_000
/** Deep enough for any CRD; parsers recurse. */
export const MAX_DEPTH = 64
const MAX_ALIASES = 100

const START: Place = { line: 1, column: 1 }
const onlyProblem = (message: string): ParsedText => ({ documents: [], problems: [{ ...START, message }] })

export function parseDocuments(text: string): ParsedText {
  if (text.length > MAX_TEXT_BYTES) return onlyProblem(`larger than ${MAX_TEXT_BYTES / 1024 / 1024} MiB; split it`)
  if (text.includes('\0')) return onlyProblem('holds a NUL byte: this is no text')
  const lines = new LineCounter()
  let parsed: readonly Document[]
  try {
    const all = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' })
    parsed = Array.isArray(all) ? all : []
  } catch {
    // The parser recurses: the one thing it throws on is nesting beyond the stack.
    return onlyProblem(`nested deeper than ${MAX_DEPTH} levels`)
  }
  if (parsed.length > MAX_DOCUMENTS) return onlyProblem(`more than ${MAX_DOCUMENTS} documents; split the file`)

  const problems: DocumentProblem[] = []
  const documents: ParsedDocument[] = []
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  for (const doc of parsed) {
    const { value, problems: found } = readDocument(doc)
    problems.push(...found.map(({ at, message }) => ({ ...placeAt(at), message })))
    if (found.length > 0 || value === null) continue
    documents.push({
      value,
      placeOf: (pointer) => placeAt(nodeAt(doc, pointer)?.range?.[0] ?? 0),
    })
  }
  return { documents, problems }
}

interface Found {
  readonly at: number
  readonly message: string
}

function readDocument(doc: Document): { value: unknown; problems: readonly Found[] } {
  const refused = (at: number, message: string) => ({ value: undefined, problems: [{ at, message }] })
  const first = doc.errors[0] ?? doc.warnings[0]
  // Errors after the first are mostly its echoes, and a hostile text has thousands.
  if (first) return refused(first.pos[0], first.message)
  let value: unknown
  try {
    value = doc.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return refused(0, 'aliases multiply beyond reason')
  }
  if (isDeeperThan(value, MAX_DEPTH)) return refused(0, `nested deeper than ${MAX_DEPTH} levels`)
  return { value, problems: lossyNumbers(doc.contents) }
}

/** Numbers that JavaScript would silently change or that JSON cannot write. */
function lossyNumbers(root: unknown): readonly Found[] {
  const out: Found[] = []
  const todo: unknown[] = [root]
  while (todo.length > 0) {
    const node = todo.pop()
    if (isMap(node)) for (const { key, value } of node.items) todo.push(key, value)
    else if (isSeq(node)) todo.push(...node.items)
    else if (isScalar(node) && typeof node.value === 'number' && !isKept(node.value, node.source))
      out.push({
        at: node.range?.[0] ?? 0,
        message: `the number ${String(node.source).slice(0, 40)} cannot be kept exactly; quote it if it is text`,
      })
  }
  return out.toReversed()
}

const isKept = (value: number, source = ''): boolean =>
  Number.isFinite(value) && (!/^-?\d+$/.test(source) || BigInt(source) === BigInt(value))

/** The node at a pointer; of an entry of a map its key, which is what a person looks for. */
function nodeAt(doc: Document, pointer: string): Node | undefined {
  let node: unknown = doc.contents
  let found: Node | undefined = isCollection(node) || isScalar(node) ? node : undefined
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isAlias(node)) node = node.resolve(doc)
    if (isSeq(node)) {
      node = node.items[Number(key)]
      if (isCollection(node) || isScalar(node) || isAlias(node)) found = node
    } else if (isMap(node)) {
      const pair = node.items.find((p) => isScalar(p.key) && String(p.key.value) === key)
      if (pair && isScalar(pair.key)) found = pair.key
      node = pair?.value
    } else return found
  }
  return found
}
