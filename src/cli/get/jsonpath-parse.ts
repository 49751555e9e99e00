// Reads a JSONPath template as kubectl writes it: text with {expressions}, {range …}{end}, fields, indexes, slices, unions and filters. Pure; it runs nothing.

/** Longer templates are files, not arguments. */
const MAX_CHARS = 8_192

export type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'every' }
  | { readonly kind: 'below' }
  | { readonly kind: 'index'; readonly from: number | undefined; readonly to: number | undefined; readonly by: number }
  | { readonly kind: 'one'; readonly index: number }
  | { readonly kind: 'union'; readonly parts: readonly (readonly Step[])[] }
  | { readonly kind: 'filter'; readonly filter: Filter }

export type Operand = { readonly path: readonly Step[] } | { readonly value: string | number | boolean }
type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

export interface Filter {
  readonly left: Operand
  readonly right?: { readonly is: Comparison; readonly to: Operand }
}

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: readonly Step[] }
  | { readonly kind: 'range'; readonly path: readonly Step[]; readonly parts: readonly Part[] }

/** What cannot be read, for a person. */
export class TemplateProblem extends Error {}

const FIELD = /^(?:[^\s.[\]{}()'"=!<>,*@$?:\\]|\\.)+/
const NUMBER = /^[+-]?\d+(?:\.\d+)?/
const QUOTED = /^(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

const unescaped = (text: string): string => text.replace(/\\(.)/gs, (_, c: string) => ESCAPES[c] ?? c)

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }
  /** For messages: the rest of the text begins here. */
  get place(): string {
    const rest = this.#text.slice(this.#at, this.#at + 20)
    return rest === '' ? 'at the end' : `at ${JSON.stringify(rest)}`
  }
  takes(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }
  match(pattern: RegExp): RegExpExecArray | undefined {
    const found = pattern.exec(this.#text.slice(this.#at))
    if (found === null) return undefined
    this.#at += found[0].length
    return found
  }
  blanks(): void {
    this.match(/^\s+/)
  }
  needs(word: string): void {
    if (!this.takes(word)) throw new TemplateProblem(`${JSON.stringify(word)} is missing ${this.place}`)
  }
  quoted(): string | undefined {
    const found = this.match(QUOTED)
    return found === undefined ? undefined : unescaped(found[1] ?? found[2] ?? '')
  }
}

export function parseTemplate(template: string): readonly Part[] {
  if (template.length > MAX_CHARS) throw new TemplateProblem(`longer than ${MAX_CHARS} characters`)
  const reader = new Reader(template)
  return readParts(reader, false)
}

/** A column, with or without its braces: `.metadata.name` and `{.metadata.name}`. */
export function parsePath(text: string): readonly Step[] {
  const inner = /^\{(.*)\}$/s.exec(text)?.[1] ?? text
  const dotted = /^[.[@$]/.test(inner) ? inner : `.${inner}`
  const [part, ...more] = parseTemplate(`{${dotted}}`)
  if (part?.kind !== 'value' || part.path.length === 0 || more.length > 0)
    throw new TemplateProblem(`${JSON.stringify(text)} is not a path`)
  return part.path
}

function readParts(reader: Reader, isInRange: boolean): readonly Part[] {
  const parts: Part[] = []
  while (!reader.isAtEnd) {
    const text = reader.match(/^[^{]+/)
    if (text !== undefined) parts.push({ kind: 'text', text: text[0] })
    if (!reader.takes('{')) continue
    for (;;) {
      reader.blanks()
      if (reader.takes('}')) break
      if (reader.match(/^end(?=[\s}])/)) {
        if (!isInRange) throw new TemplateProblem('{end} without a {range}')
        reader.blanks()
        reader.needs('}')
        return parts
      }
      if (reader.match(/^range(?=[\s.[@$])/)) {
        reader.blanks()
        const path = readPath(reader)
        reader.blanks()
        reader.needs('}')
        parts.push({ kind: 'range', path, parts: readParts(reader, true) })
        break
      }
      parts.push(readValue(reader))
    }
  }
  if (isInRange) throw new TemplateProblem('{range} without an {end}')
  return parts
}

function readValue(reader: Reader): Part {
  const text = reader.quoted()
  if (text !== undefined) return { kind: 'text', text }
  const before = reader.place
  const path = readPath(reader)
  if (before === reader.place) throw new TemplateProblem(`not understood ${before}; a path begins with a dot`)
  return { kind: 'value', path }
}

function readPath(reader: Reader): readonly Step[] {
  const steps: Step[] = []
  if (reader.takes('$') || reader.takes('@')) {
    // Both are the object here: a template has no other root.
  }
  for (;;) {
    if (reader.takes('..')) steps.push({ kind: 'below' }, ...readName(reader))
    else if (reader.takes('.')) steps.push(...readName(reader))
    else if (reader.takes('[')) steps.push(readBracket(reader))
    else return steps
  }
}

/** `.[0]` is `[0]`, and a dot alone is the object. */
function readName(reader: Reader): readonly Step[] {
  if (reader.takes('*')) return [{ kind: 'every' }]
  const name = reader.match(FIELD)
  return name === undefined ? [] : [{ kind: 'field', name: unescaped(name[0]) }]
}

function readBracket(reader: Reader): Step {
  reader.blanks()
  if (reader.takes('?(')) {
    const filter = readFilter(reader)
    reader.blanks()
    reader.needs(')')
    reader.blanks()
    reader.needs(']')
    return { kind: 'filter', filter }
  }
  const parts: (readonly Step[])[] = []
  for (;;) {
    parts.push([readIndex(reader)])
    reader.blanks()
    if (reader.takes(']')) break
    if (!reader.takes(',')) throw new TemplateProblem(`"]" is missing ${reader.place}`)
    reader.blanks()
  }
  const [only] = parts
  return parts.length === 1 && only?.[0] !== undefined ? only[0] : { kind: 'union', parts }
}

function readIndex(reader: Reader): Step {
  if (reader.takes('*')) return { kind: 'every' }
  const name = reader.quoted()
  if (name !== undefined) return { kind: 'field', name }
  const number = (): number | undefined => {
    const found = reader.match(/^[+-]?\d+/)
    return found === undefined ? undefined : Number(found[0])
  }
  const from = number()
  if (!reader.takes(':')) {
    if (from !== undefined) return { kind: 'one', index: from }
    throw new TemplateProblem(`an index, a quoted name, * or ?( is missing ${reader.place}`)
  }
  const to = number()
  const by = reader.takes(':') ? (number() ?? 1) : 1
  if (by < 1) throw new TemplateProblem('the step of a slice must be 1 or more')
  return { kind: 'index', from, to, by }
}

function readFilter(reader: Reader): Filter {
  const left = readOperand(reader)
  reader.blanks()
  const is = reader.match(/^(?:==|!=|<=|>=|<|>)/)?.[0] as Comparison | undefined
  if (is === undefined) return { left }
  reader.blanks()
  return { left, right: { is, to: readOperand(reader) } }
}

function readOperand(reader: Reader): Operand {
  reader.blanks()
  const text = reader.quoted()
  if (text !== undefined) return { value: text }
  const number = reader.match(NUMBER)
  if (number !== undefined) return { value: Number(number[0]) }
  const word = reader.match(/^(?:true|false)(?![\w.])/)
  if (word !== undefined) return { value: word[0] === 'true' }
  const before = reader.place
  const path = readPath(reader)
  if (before === reader.place) throw new TemplateProblem(`a path or a value is missing ${before}`)
  return { path }
}
