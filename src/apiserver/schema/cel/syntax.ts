// Text of an expression to a syntax tree of our own. The package's parser reads the text; here its tree gets the positions that
// the real server reports, chains of && and || become flat, and differences from CEL's grammar are corrected or refused.
import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import { assertNever, messageOf } from '#lib/errors.ts'
import { markedLiterals } from './literal-marks.ts'
import { BOOL, BYTES, type CelType, DOUBLE, INT, NULL, STRING, UINT } from './types.ts'
import { type CelValue, CelUint } from './values.ts'

export type Expr =
  | { readonly op: 'const'; readonly pos: number; readonly value: CelValue; readonly type: CelType }
  | { readonly op: 'ident'; readonly pos: number; readonly name: string }
  | {
      readonly op: 'select'
      readonly pos: number
      readonly operand: Expr
      readonly field: string
      readonly optional: boolean
    }
  | {
      readonly op: 'call'
      readonly pos: number
      readonly name: string
      readonly target: Expr | undefined
      readonly args: readonly Expr[]
    }
  | { readonly op: 'and' | 'or'; readonly pos: number; readonly terms: readonly Expr[] }
  | {
      readonly op: 'ternary'
      readonly pos: number
      readonly cond: Expr
      readonly yes: Expr
      readonly no: Expr
    }
  | { readonly op: 'list'; readonly pos: number; readonly items: readonly Expr[] }
  | { readonly op: 'map'; readonly pos: number; readonly entries: readonly (readonly [Expr, Expr])[] }
  /** `Type{field: value}`. */
  | { readonly op: 'message'; readonly pos: number; readonly type: string; readonly fields: readonly FieldExpr[] }
  /** In a list, or as a value of a map: there when the optional has a value. */
  | { readonly op: 'entry'; readonly pos: number; readonly value: Expr }

interface FieldExpr {
  readonly name: string
  /** Of the colon. */
  readonly pos: number
  readonly value: Expr
}

/** Something wrong at a place of the text. */
export interface Issue {
  readonly pos: number
  readonly message: string
}

export type Parsed = { readonly ok: true; readonly expr: Expr } | { readonly ok: false; readonly issue: Issue }

/** Longer than any rule in use; a bound for what a stranger can make the parser chew on. */
export const MAX_EXPRESSION_LENGTH = 10 * 1024
/** Levels of nesting, as the real parser; the checker and the evaluator recurse as deep. */
const MAX_DEPTH = 250

const environment = new Environment({
  enableOptionalTypes: true,
  limits: { maxDepth: MAX_DEPTH, maxAstNodes: MAX_EXPRESSION_LENGTH, maxListElements: 4096, maxMapEntries: 4096 },
})

const MIN_INT = -(2n ** 63n)
const MAX_INT = 2n ** 63n - 1n

class Refused extends Error {
  readonly pos: number
  constructor(pos: number, message: string) {
    super(message)
    this.pos = pos
  }
}

const refuse = (pos: number, message: string): never => {
  throw new Refused(pos, message)
}

export function parseCel(text: string): Parsed {
  if (text.length > MAX_EXPRESSION_LENGTH)
    return failed(0, `expression code point size exceeds limit: size: ${text.length}, limit ${MAX_EXPRESSION_LENGTH}`)
  try {
    const { text: plain, places, types } = markedLiterals(text)
    return { ok: true, expr: convert(environment.parse(plain).ast, { text, depth: 0, optional: places, types }) }
  } catch (e) {
    if (e instanceof Refused) return failed(e.pos, e.message)
    if (e instanceof ParseError) return failed(e.range?.start ?? 0, `Syntax error: ${e.summary}`)
    if (e instanceof RangeError) return failed(0, `expression recursion limit exceeded: ${MAX_DEPTH}`)
    return failed(0, `Syntax error: ${messageOf(e)}`)
  }
}

const failed = (pos: number, message: string): Parsed => ({ ok: false, issue: { pos, message } })

interface Place {
  readonly text: string
  readonly depth: number
  /** Where optional entries begin. */
  readonly optional: ReadonlySet<number>
  /** The types of literals by where their braces are. */
  readonly types: ReadonlyMap<number, string>
}

function convert(node: ASTNode, at: Place): Expr {
  const { text } = at
  if (at.depth > MAX_DEPTH) refuse(node.start, `expression recursion limit exceeded: ${MAX_DEPTH}`)
  const inner: Place = { ...at, depth: at.depth + 1 }
  const sub = (n: ASTNode): Expr => convert(n, inner)
  switch (node.op) {
    case 'value':
      return literal(node, text)
    case 'id':
      return { op: 'ident', pos: node.start, name: node.args }
    case '.':
    case '.?': {
      const [operand, field] = node.args
      return { op: 'select', pos: after(text, operand.end), operand: sub(operand), field, optional: node.op === '.?' }
    }
    case '[]':
    case '[?]': {
      const [operand, index] = node.args
      const name = node.op === '[]' ? '_[_]' : '_[?_]'
      return call(name, after(text, operand.end), [sub(operand), sub(index)])
    }
    case 'call': {
      const [name, args] = node.args
      noTrailingComma(text, args, node.end)
      return call(name, text.indexOf('(', node.start + name.length), args.map(sub))
    }
    case 'rcall': {
      const [name, target, args] = node.args
      noTrailingComma(text, args, node.end)
      const pos = text.indexOf('(', text.indexOf(name, after(text, target.end) + 1) + name.length)
      return { op: 'call', pos, name, target: sub(target), args: args.map(sub) }
    }
    case '&&':
    case '||':
      return logical(node, node.op, inner)
    case '?:': {
      const [cond, yes, no] = node.args
      const pos = after(text, cond.end)
      return { op: 'ternary', pos, cond: sub(cond), yes: sub(yes), no: sub(no) }
    }
    case 'list':
      return { op: 'list', pos: node.start, items: node.args.map((n) => entry(n.start, sub(n), at)) }
    case 'map': {
      const type = at.types.get(node.start)
      if (type !== undefined) return message(node, type, inner)
      return {
        op: 'map',
        pos: node.start,
        entries: node.args.map(([k, v]) => [sub(k), entry(k.start, sub(v), at)] as const),
      }
    }
    case '!_':
      return at.optional.has(node.start) ? sub(node.args) : call('!_', node.start, [sub(node.args)])
    case '-_':
      return negation(node, inner)
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'in':
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return binary(node, node.op, inner)
    default:
      return assertNever(node)
  }
}

const entry = (pos: number, value: Expr, { optional }: Place): Expr =>
  optional.has(pos) ? { op: 'entry', pos, value } : value

function message(node: ASTNode & { readonly op: 'map' }, type: string, at: Place): Expr {
  const fields = node.args.map(([k, v]): FieldExpr => {
    const key = k.op === '!_' && at.optional.has(k.start) ? k.args : k
    const name = key.op === 'id' ? key.args : refuse(key.start, 'Syntax error: the name of a field is an identifier')
    return { name, pos: after(at.text, key.end), value: entry(k.start, convert(v, at), at) }
  })
  return { op: 'message', pos: node.start, type, fields }
}

const call = (name: string, pos: number, args: readonly Expr[]): Expr => ({
  op: 'call',
  pos,
  name,
  target: undefined,
  args,
})

/** Where the next token starts that is no closing parenthesis: the operator after an operand. */
function after(text: string, from: number): number {
  let i = from
  for (;;) {
    const c = text[i]
    if (c === '/' && text[i + 1] === '/') {
      const end = text.indexOf('\n', i)
      if (end === -1) return text.length
      i = end
    } else if (c === ')' || c === ' ' || c === '\t' || c === '\n' || c === '\r') i++
    else return i
  }
}

function noTrailingComma(text: string, args: readonly ASTNode[], end: number): void {
  const last = args.at(-1)
  const next = last === undefined ? end : after(text, last.end)
  if (next < end && text[next] === ',') refuse(next, "Syntax error: extraneous input ','")
}

/** A chain of one operator becomes one node with all terms, found without recursion: chains may be long. */
function logical(node: ASTNode, op: '&&' | '||', at: Place): Expr {
  const terms: ASTNode[] = []
  let pos = node.start
  const open: ASTNode[] = [node]
  for (let n = open.pop(); n !== undefined; n = open.pop()) {
    if (n.op !== op) {
      terms.push(n)
      continue
    }
    const [left, right] = n.args
    if (n === node) pos = after(at.text, left.end)
    open.push(right, left)
  }
  return { op: op === '&&' ? 'and' : 'or', pos, terms: terms.map((t) => convert(t, at)) }
}

const OPERATORS: Readonly<Record<string, string>> = {
  '==': '_==_',
  '!=': '_!=_',
  '<': '_<_',
  '<=': '_<=_',
  '>': '_>_',
  '>=': '_>=_',
  in: '@in',
  '+': '_+_',
  '-': '_-_',
  '*': '_*_',
  '/': '_/_',
  '%': '_%_',
}
const RELATIONS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', 'in'])

function binary(node: ASTNode & { readonly args: [ASTNode, ASTNode] }, op: string, at: Place): Expr {
  const [left, right] = node.args
  const pos = after(at.text, left.end)
  if ((op === '==' || op === '!=') && RELATIONS.has(right.op)) refuseBareRelation(at.text, pos + 2, right)
  return call(OPERATORS[op] ?? op, pos, [convert(left, at), convert(right, at)])
}

/** In CEL `a == b < c` is `(a == b) < c`; the package binds `<` tighter. Without parentheses the meaning is ambiguous: refused. */
function refuseBareRelation(text: string, from: number, right: ASTNode): void {
  const first = (right.args as [ASTNode, ASTNode])[0]
  const upToOperator = text.slice(from, after(text, first.end))
  try {
    environment.parse(upToOperator)
  } catch {
    return // an open parenthesis: the relation has its own
  }
  refuse(from - 2, 'Syntax error: write parentheses around the comparison that stands beside == or !=')
}

function negation(node: ASTNode & { readonly args: ASTNode }, at: Place): Expr {
  const { args } = node
  if (args.op === 'value' && args.start === node.start + 1) {
    const { args: value } = args
    if (typeof value === 'number') return { op: 'const', pos: node.start, value: -value, type: DOUBLE }
    if (typeof value === 'bigint') return int(-value, node.start)
  }
  return call('-_', node.start, [convert(args, at)])
}

function int(value: bigint, pos: number): Expr {
  if (value < MIN_INT || value > MAX_INT) refuse(pos, 'Syntax error: invalid int literal')
  return { op: 'const', pos, value, type: INT }
}

function literal(node: ASTNode & { readonly op: 'value' }, text: string): Expr {
  const { args: value, start: pos } = node
  if (value === null) return { op: 'const', pos, value, type: NULL }
  if (typeof value === 'bigint') return int(value, pos)
  if (typeof value === 'boolean') return { op: 'const', pos, value, type: BOOL }
  if (typeof value === 'number') return { op: 'const', pos, value, type: DOUBLE }
  if (typeof value === 'string') {
    const source = text.slice(pos, node.end)
    // A backslash never ends or escapes anything in a raw string of CEL; the package takes \" as part of it.
    if (/^[rR]/.test(source) && /\\["']/.test(source))
      refuse(pos, 'Syntax error: backslash before a quote in a raw string')
    return { op: 'const', pos, value, type: STRING }
  }
  if (value instanceof Uint8Array) {
    if (Array.from(text.slice(pos, node.end)).some(isWide)) refuse(pos, 'Syntax error: bytes literals must be ASCII')
    return { op: 'const', pos, value, type: BYTES }
  }
  return { op: 'const', pos, value: new CelUint(value.value), type: UINT }
}

/** As the real compiler prints an issue: place, message, the line and a mark under the place. */
export function formatIssue(text: string, issue: Issue): string {
  const before = text.slice(0, issue.pos).split('\n')
  const line = (text.split('\n')[before.length - 1] ?? '').replaceAll('\t', ' ')
  const column = [...(before.at(-1) ?? '')].length
  const chars = Array.from(line)
  const mark = chars
    .slice(0, column)
    .map((c) => (isWide(c) ? '．' : '.'))
    .join('')
  const pointer = isWide(chars[column] ?? ' ') ? '＾' : '^'
  return `ERROR: <input>:${before.length}:${column + 1}: ${issue.message}\n | ${line}\n | ${mark}${pointer}`
}

const isWide = (char: string): boolean => (char.codePointAt(0) ?? 0) > 0x7f
