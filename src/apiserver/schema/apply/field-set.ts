// Sets of fields in the very form that the API stores (FieldsV1), and their algebra. Sets are never changed; results share what they can,
// and each operation costs about as much as its smaller operand, so that a small change to a large object is cheap.
import { isObject } from '#lib/json.ts'
import { canonicalElement, compareElements } from './path-element.ts'

/** Maps an element to its known children. `{}` is a member; with content, a member only when it holds ".". */
export interface FieldSet {
  readonly [element: string]: FieldSet
}

type Building = { [element: string]: FieldSet }

export const EMPTY_SET: FieldSet = Object.freeze({})
/** A member without anything below it. */
export const LEAF: FieldSet = EMPTY_SET
const SELF = '.'

export const isEmptySet = (set: FieldSet): boolean => {
  for (const _ in set) return false
  return true
}

export const isMember = (node: FieldSet | undefined): boolean =>
  node !== undefined && (node[SELF] !== undefined || isEmptySet(node))

/** True when something below the node is in the set. */
export function hasChildren(node: FieldSet): boolean {
  for (const element in node) if (element !== SELF) return true
  return false
}

/** A node of the content without, with or only with itself; undefined when nothing is left. */
export function nodeOf(member: boolean, children: FieldSet): FieldSet | undefined {
  if (isEmptySet(children)) return member ? LEAF : undefined
  return member ? { [SELF]: LEAF, ...children } : children
}

export function childrenOf(node: FieldSet): FieldSet {
  if (node[SELF] === undefined) return node
  const { [SELF]: _, ...children } = node
  return children
}

export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) node = node?.[element]
  return path.length > 0 && isMember(node)
}

export const fieldSetOfPaths = (paths: readonly (readonly string[])[]): FieldSet => {
  const set: Building = {}
  for (const path of paths) insertPath(set, path)
  return set
}

/** For sets under construction only, in which a member without anything below it is always LEAF: looking whether a large one is empty takes long. */
export function insertPath(root: Building, path: readonly string[]): void {
  let node = root
  const last = path.length - 1
  for (let i = 0; i < last; i++) {
    const element = path[i] as string
    let child = node[element]
    if (child === undefined) child = node[element] = {}
    else if (child === LEAF) child = node[element] = { [SELF]: LEAF }
    node = child
  }
  const element = path[last]
  if (element === undefined) return
  const found: Building | undefined = node[element]
  if (found === undefined) node[element] = LEAF
  else if (found !== LEAF) found[SELF] = LEAF
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  let out: Building | undefined
  for (const element in b) {
    const left = a[element]
    const joined = left === undefined ? b[element] : unionNodes(left, b[element] as FieldSet)
    if (joined === left || joined === undefined) continue
    out ??= { ...a }
    out[element] = joined
  }
  return out ?? a
}

function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  const member = isMember(a) || isMember(b)
  const children = union(a, b)
  if (!member || isEmptySet(children) || children[SELF] !== undefined) return children
  return { [SELF]: LEAF, ...children }
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const out: Building = {}
  for (const element in b) {
    const left = a[element]
    const right = b[element]
    if (left === undefined || right === undefined || element === SELF) continue
    const node = nodeOf(isMember(left) && isMember(right), intersection(left, right))
    if (node !== undefined) out[element] = node
  }
  return out
}

/** Members of `a` that are no members of `b`; taking a parent away leaves its children. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, false)

/** As `difference`, but taking a parent away takes all below it. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, true)

function subtract(a: FieldSet, b: FieldSet, deep: boolean): FieldSet {
  let changes: Map<string, FieldSet | undefined> | undefined
  for (const element in b) {
    const left = a[element]
    const right = b[element]
    if (left === undefined || right === undefined || element === SELF) continue
    const rest = subtractNodes(left, right, deep)
    if (rest !== left) (changes ??= new Map()).set(element, rest)
  }
  if (changes === undefined) return a
  const out: Building = {}
  for (const element in a) {
    const node = changes.has(element) ? changes.get(element) : a[element]
    if (node !== undefined) out[element] = node
  }
  return out
}

function subtractNodes(a: FieldSet, b: FieldSet, deep: boolean): FieldSet | undefined {
  const gone = isMember(b)
  if (gone && deep) return undefined
  const member = isMember(a)
  const below = childrenOf(a)
  const children = subtract(below, b, deep)
  return children === below && !(member && gone) ? a : nodeOf(member && !gone, children)
}

/** True when every member of `inner` is a member of `outer`. */
export function includes(outer: FieldSet, inner: FieldSet): boolean {
  if (outer === inner) return true
  for (const element in inner) {
    if (element === SELF) continue
    const left = outer[element]
    const right = inner[element] as FieldSet
    if (left === right) continue
    if (left === undefined || (isMember(right) && !isMember(left)) || !includes(left, right)) return false
  }
  return true
}

export const sameSet = (a: FieldSet, b: FieldSet): boolean => a === b || (includes(a, b) && includes(b, a))

/** Each member, parents before their children, in the server's order. The path is reused: copy it to keep it. */
export function eachPath(set: FieldSet, visit: (path: readonly string[]) => void, path: string[] = []): void {
  const elements = Object.keys(set)
    .filter((e) => e !== SELF)
    .toSorted(compareElements)
  for (const element of elements) {
    if (!isMember(set[element])) continue
    path.push(element)
    visit(path)
    path.pop()
  }
  for (const element of elements) {
    path.push(element)
    eachPath(set[element] ?? EMPTY_SET, visit, path)
    path.pop()
  }
}

/** The same set with its elements in the order in which the server writes them. */
export function inServerOrder(set: FieldSet): FieldSet {
  if (set === LEAF) return set
  const elements = Object.keys(set)
  const nodes = elements.map((element) => inServerOrder(set[element] as FieldSet))
  const isOrdered = elements.every((element, i) => i === 0 || isBefore(elements[i - 1] as string, element))
  if (isOrdered && nodes.every((node, i) => node === set[elements[i] as string])) return set
  const places = elements.map((_, i) => i)
  if (!isOrdered) places.sort((a, b) => (isBefore(elements[a] as string, elements[b] as string) ? -1 : 1))
  const out: Building = {}
  for (const i of places) out[elements[i] as string] = nodes[i] as FieldSet
  return out
}

const isBefore = (a: string, b: string): boolean => a === SELF || (b !== SELF && compareElements(a, b) < 0)

/** Parses a client's set: elements of unknown kinds are dropped, the rest made canonical. Throws SyntaxError when malformed. */
export function parseFieldSet(json: unknown): FieldSet {
  if (json === undefined || json === null) return EMPTY_SET
  return inServerOrder(childrenOf(parseNode(json)))
}

function parseNode(json: unknown): FieldSet {
  if (!isObject(json)) throw new SyntaxError('a set of fields must be a map')
  const out: Building = {}
  let seen = 0
  for (const key of Object.keys(json)) {
    seen++
    if (key === SELF) out[SELF] = LEAF
    else {
      const element = canonicalElement(key)
      const node = element === undefined ? undefined : parseNode(json[key])
      if (element === undefined || node === undefined || node === NOTHING) continue
      const found = out[element]
      out[element] = found === undefined ? node : unionNodes(found, node)
    }
  }
  if (seen === 0) return LEAF
  return hasChildren(out) ? out : out[SELF] === undefined ? NOTHING : LEAF
}

/** A node of which nothing could be read: neither a member nor with children. */
const NOTHING: FieldSet = Object.freeze({ [SELF]: Object.freeze({}) })
