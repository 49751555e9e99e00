// A sops-encrypted file as an ordered tree: the MAC covers values in file order, which JavaScript objects do not preserve. Pure. Anything that two YAML
// readers may understand differently is refused instead of guessed.
import { isAlias, isMap, isScalar, isSeq, Lexer, parseAllDocuments, type Node, type Scalar } from 'yaml'

/** A value, with the keys that lead to it. A list item has the path of its list. */
export interface Leaf {
  readonly path: readonly string[]
  readonly value: string | number | boolean
}

export type Tree = string | number | boolean | null | readonly Tree[] | ReadonlyMap<string, Tree>

/** Secrets with certificates take tens of kilobytes. */
const MAX_FILE_CHARS = 512 * 1024
const MAX_LEAVES = 10_000
const MAX_DEPTH = 32
/** A value written by sops takes six, and a file of this length has 4,000 values. The parser takes seconds, and a gigabyte, for half a million brackets. */
const MAX_LEXEMES = 30_000

/** Throws the problem, without any value from the file. */
export function parseTree(text: string): ReadonlyMap<string, Tree> {
  if (text.length > MAX_FILE_CHARS) throw new Error(`has more than ${MAX_FILE_CHARS} characters`)
  requireFewLexemes(text)
  const documents = documentsIn(text)
  const [document] = documents
  if (documents.length !== 1 || document === undefined) throw new Error(`has ${documents.length} documents, not one`)
  const [error] = document.errors
  // The parser's message may quote the file.
  if (error !== undefined) throw new Error(`cannot be parsed near character ${error.pos[0]}`)
  const reader = { left: MAX_LEAVES }
  const tree = treeOf(document.contents, 0, reader)
  if (!(tree instanceof Map)) throw new Error('is no map')
  return tree
}

/** Reads one lexeme at a time, and stops at the limit. */
function requireFewLexemes(text: string): void {
  let [count, open] = [0, 0]
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > MAX_LEXEMES) throw new Error(`has more than ${MAX_LEXEMES} words and signs`)
    if (lexeme === '[' || lexeme === '{') open++
    else if (lexeme === ']' || lexeme === '}') open--
    if (open > MAX_DEPTH) throw new Error(`is nested deeper than ${MAX_DEPTH} levels`)
    if (open < 0) throw new Error('has a bracket that nothing opened')
  }
}

function documentsIn(text: string) {
  try {
    const all = parseAllDocuments(text, { uniqueKeys: false, version: '1.2', schema: 'core', prettyErrors: false })
    return Array.isArray(all) ? all : []
  } catch (cause) {
    throw new Error('is nested too deeply', { cause })
  }
}

function treeOf(node: Node | null, depth: number, reader: { left: number }): Tree {
  if (--reader.left < 0) throw new Error(`has more than ${MAX_LEAVES} values`)
  if (depth > MAX_DEPTH) throw new Error(`is nested deeper than ${MAX_DEPTH} levels`)
  if (node === null) return null
  if (isAlias(node) || node.anchor !== undefined)
    throw new Error('has anchors or aliases, which may be read differently')
  if (node.tag !== undefined) throw new Error('has tags, which may be read differently')
  if (isScalar(node)) return scalarOf(node)
  if (isSeq(node)) return node.items.map((item) => treeOf(item as Node | null, depth + 1, reader))
  if (!isMap(node)) throw new Error('has a value of an unknown kind')
  const map = new Map<string, Tree>()
  for (const { key, value } of node.items) {
    if (!isScalar(key) || typeof key.value !== 'string' || key.value === '<<')
      throw new Error('has a key that is no plain text; quote it')
    // The parser compares every key with every other key.
    if (map.has(key.value)) throw new Error('has a key twice in one map')
    map.set(key.value, treeOf(value as Node | null, depth + 1, reader))
  }
  return map
}

/** Plain words that are text for this reader but numbers or dates for sops. */
const AMBIGUOUS = /^(?:[+-]?[\d.][\d.]*_[\d_.]*|[+-]?0b[01_]+|\d{4}-\d\d?-\d\d?.*)$/i

function scalarOf({ value, source, type }: Scalar): Tree {
  if (typeof value === 'string') {
    if (type === 'PLAIN' && AMBIGUOUS.test(value))
      throw new Error('has an unquoted value that may be read differently; quote it')
    return value
  }
  if (value === null) return null
  const isPlain = source === undefined || source === String(value)
  if (typeof value === 'boolean' && isPlain) return value
  if (typeof value === 'number' && isPlain && (Number.isSafeInteger(value) || /^-?\d+\.\d*[1-9]$/.test(String(value))))
    return value
  throw new Error('has an unquoted value that may be read differently; quote it')
}

/** In file order. Null has no bytes and is not a leaf. */
export function* leavesOf(tree: Tree, path: readonly string[] = []): Generator<Leaf> {
  if (tree === null) return
  if (tree instanceof Map)
    for (const [key, value] of tree as ReadonlyMap<string, Tree>) yield* leavesOf(value, [...path, key])
  else if (Array.isArray(tree)) for (const item of tree as readonly Tree[]) yield* leavesOf(item, path)
  else yield { path, value: tree as Leaf['value'] }
}

/** The same tree with other values at its leaves. */
export function mapLeaves(tree: Tree, change: (leaf: Leaf) => Leaf['value'], path: readonly string[] = []): Tree {
  if (tree === null) return null
  if (tree instanceof Map)
    return new Map(
      [...(tree as ReadonlyMap<string, Tree>)].map(([key, value]) => [key, mapLeaves(value, change, [...path, key])]),
    )
  if (Array.isArray(tree)) return (tree as readonly Tree[]).map((item) => mapLeaves(item, change, path))
  return change({ path, value: tree as Leaf['value'] })
}

/** Plain data; a key such as __proto__ is also just data. */
export function plainOf(tree: Tree): unknown {
  if (tree instanceof Map)
    return Object.fromEntries([...(tree as ReadonlyMap<string, Tree>)].map(([key, value]) => [key, plainOf(value)]))
  return Array.isArray(tree) ? (tree as readonly Tree[]).map(plainOf) : tree
}
