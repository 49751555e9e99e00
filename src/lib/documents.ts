// Parses untrusted YAML and JSON documents: bounded, with the position of every value, never guessing. Keys such as __proto__ become plain data; duplicate
// keys, exploding aliases and numbers that cannot be represented are problems.
import { LineCounter, isAlias, isCollection, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml'
import type { Alias, Document, Node, Pair, YAMLMap } from 'yaml'
import { isCyclic, isDeeperThan } from './json.ts'

interface Place {
  readonly line: number
  readonly column: number
}

interface DocumentProblem extends Place {
  readonly message: string
}

export interface ParsedDocument {
  readonly value: unknown
  /** The position of the value at a JSON pointer; for a missing one, its nearest parent. */
  placeOf(pointer: string): Place
}

export interface ParsedText {
  readonly documents: readonly ParsedDocument[]
  readonly problems: readonly DocumentProblem[]
}

/** Larger files are generated; a user who hits this can split them. */
export const MAX_TEXT_BYTES = 32 * 1024 * 1024
const MAX_DOCUMENTS = 20_000
/** Deep enough for any CRD; parsers recurse. */
export const MAX_DEPTH = 64
const MAX_ALIASES = 100
/** Each alias is searched among all values of its document. This many steps take half a second, across all documents. */
const MAX_ALIAS_STEPS = 1_000_000
const TOO_DEEP = `nested deeper than ${MAX_DEPTH} levels`

const START: Place = { line: 1, column: 1 }
const onlyProblem = (message: string): ParsedText => ({ documents: [], problems: [{ ...START, message }] })

export interface ParseOptions {
  /** For texts that do not need them. */
  readonly refuseAliases?: boolean
}

export function parseDocuments(text: string, { refuseAliases = false }: ParseOptions = {}): ParsedText {
  if (text.length > MAX_TEXT_BYTES) return onlyProblem(`larger than ${MAX_TEXT_BYTES / 1024 / 1024} MiB; split it`)
  if (text.includes('\0')) return onlyProblem('contains a NUL byte, so it is not a text file')
  const lines = new LineCounter()
  let parsed: readonly Document[]
  try {
    // The parser compares every pair of keys; readDocument finds duplicates in one walk.
    const all = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, version: '1.2' })
    parsed = Array.isArray(all) ? all : []
  } catch {
    // The parser recurses: it only throws on nesting beyond the stack.
    return onlyProblem(TOO_DEEP)
  }
  if (parsed.length > MAX_DOCUMENTS) return onlyProblem(`more than ${MAX_DOCUMENTS} documents; split the file`)

  const problems: DocumentProblem[] = []
  const documents: ParsedDocument[] = []
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const left = { aliasSteps: refuseAliases ? 0 : MAX_ALIAS_STEPS }
  for (const doc of parsed) {
    const { value, problems: found } = readDocument(doc, left)
    problems.push(...found.map(({ at, message }) => ({ ...placeAt(at), message })))
    if (found.length > 0 || value === null) continue
    const finder = new Finder(doc)
    documents.push({ value, placeOf: (pointer) => placeAt(finder.nodeAt(pointer)?.range?.[0] ?? 0) })
  }
  return { documents, problems }
}

interface Found {
  readonly at: number
  readonly message: string
}

function readDocument(doc: Document, left: { aliasSteps: number }): { value: unknown; problems: readonly Found[] } {
  const refused = (at: number, message: string) => ({ value: undefined, problems: [{ at, message }] })
  const first = doc.errors[0] ?? doc.warnings[0]
  // Later errors mostly follow from the first, and a hostile text has thousands.
  if (first) return refused(first.pos[0], STACK_ENDED.test(first.message) ? TOO_DEEP : first.message)
  const { nodes, aliases, problems } = nodeProblems(doc.contents)
  left.aliasSteps -= aliases * nodes
  if (left.aliasSteps < 0 && aliases > 0)
    return refused(0, `${aliases} aliases among ${nodes} values are more than can be followed; write them out`)
  if (problems.length > 0) return { value: undefined, problems }
  let value: unknown
  try {
    value = doc.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return refused(0, 'aliases expand to too many values')
  }
  if (aliases > 0 && isCyclic(value)) return refused(0, 'an alias refers to a value that contains it; write it out')
  return isDeeperThan(value, MAX_DEPTH) ? refused(0, TOO_DEEP) : { value, problems: [] }
}

/** The parser recurses and reports a stack overflow as an error of the text. */
const STACK_ENDED = /call stack/

interface Walked {
  readonly nodes: number
  readonly aliases: number
  readonly problems: readonly Found[]
}

/** Keys that JSON cannot represent or allows only once, and numbers that JavaScript would silently change or JSON cannot write. */
function nodeProblems(root: unknown): Walked {
  const problems: Found[] = []
  let nodes = 0
  let aliases = 0
  const todo: unknown[] = [root]
  while (todo.length > 0) {
    const node = todo.pop()
    nodes++
    if (isMap(node)) {
      problems.push(...keyProblems(node))
      for (const { key, value } of node.items) todo.push(key, value)
    } else if (isSeq(node)) for (const item of node.items) todo.push(item)
    else if (isAlias(node)) aliases++
    else if (isScalar(node) && typeof node.value === 'number' && !isKept(node.value, node.source))
      problems.push({
        at: node.range?.[0] ?? 0,
        message: `the number ${String(node.source).slice(0, 40)} cannot be kept exactly; quote it if it is text`,
      })
  }
  return { nodes, aliases, problems: problems.toSorted((a, b) => a.at - b.at) }
}

function keyProblems(map: YAMLMap): readonly Found[] {
  const seen = new Set<string>()
  const out: Found[] = []
  for (const { key } of map.items) {
    const at = isCollection(key) || isScalar(key) || isAlias(key) ? (key.range?.[0] ?? 0) : 0
    if (isCollection(key) || isAlias(key)) out.push({ at, message: 'a key must be plain text' })
    else if (seen.has(keyText(key)))
      out.push({ at, message: `the key ${JSON.stringify(keyText(key).slice(0, 100))} is used twice; keep one` })
    else seen.add(keyText(key))
  }
  return out
}

/** A key as it appears in the resulting object. */
const keyText = (key: unknown): string => {
  const value = isScalar(key) ? key.value : key
  return value === null || value === undefined ? '' : String(value)
}

const isKept = (value: number, source = ''): boolean =>
  Number.isFinite(value) && (!/^-?\d+$/.test(source) || BigInt(source) === BigInt(value))

/** Finds nodes of one document. Builds an index on the first search, so that a problem at every key stays cheap. */
class Finder {
  readonly #doc: Document
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>()
  readonly #targets = new Map<Alias, unknown>()

  constructor(doc: Document) {
    this.#doc = doc
  }

  /** The node at a pointer; for a map entry its key, which is what users search for. */
  nodeAt(pointer: string): Node | undefined {
    let node: unknown = this.#doc.contents
    let found: Node | undefined = isCollection(node) || isScalar(node) ? node : undefined
    for (const step of pointer.split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (isAlias(node)) node = this.#target(node)
      if (isSeq(node)) {
        node = node.items[Number(key)]
        if (isCollection(node) || isScalar(node) || isAlias(node)) found = node
      } else if (isMap(node)) {
        const pair = this.#pairsOf(node).get(key)
        if (pair !== undefined && isScalar(pair.key)) found = pair.key
        node = pair?.value
      } else return found
    }
    return found
  }

  #pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    const known = this.#pairs.get(map) ?? new Map(map.items.map((pair) => [keyText(pair.key), pair]))
    this.#pairs.set(map, known)
    return known
  }

  #target(alias: Alias): unknown {
    if (!this.#targets.has(alias)) this.#targets.set(alias, alias.resolve(this.#doc))
    return this.#targets.get(alias)
  }
}
