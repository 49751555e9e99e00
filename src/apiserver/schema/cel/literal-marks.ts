// What literals have that the package's parser does not know: optional entries (`[?x]`, `{?k: v}`) and types (`Object.spec{k: v}`).
// A mark is read as a `!` in its place, which binds to what follows alike, and the name of a type as nothing, which leaves a map, so
// that the tree needs nothing but the places to be put right.

export interface Marked {
  /** As long as the expression, so that every position is the same. */
  readonly text: string
  readonly places: ReadonlySet<number>
  /** The names of types by where the brace after them stands. */
  readonly types: ReadonlyMap<number, string>
}

type Bracket = 'literal' | 'other'

export function markedLiterals(text: string): Marked {
  if (!text.includes('?') && !/\w\s*\{/.test(text)) return { text, places: NONE, types: NO_TYPES }
  const places = new Set<number>()
  const types = new Map<number, string>()
  const chars = [...Array(text.length).keys()].map((i) => text.charAt(i))
  let word: { readonly name: string; readonly at: number } | undefined
  const open: Bracket[] = []
  /** What stood last ends an operand: a bracket after it is an index, a call or a message. */
  let afterOperand = false
  let isEntryStart = false
  for (let i = 0; i < text.length;) {
    const c = text[i] ?? ''
    if (/\s/.test(c)) {
      i++
      continue
    }
    if (c === '/' && text[i + 1] === '/') {
      const end = text.indexOf('\n', i)
      i = end < 0 ? text.length : end
      continue
    }
    const token = textToken(text, i) ?? /^[\w.]+/.exec(text.slice(i, i + MAX_WORD))?.[0]
    if (token !== undefined) {
      word = NAME.test(token) && !LITERALS.has(token) ? { name: token, at: i } : undefined
      i += token.length
      afterOperand = token !== 'in'
      isEntryStart = false
      continue
    }
    if (c === '?' && isEntryStart) {
      places.add(i)
      chars[i] = '!'
    }
    const isTyped = c === '{' && word !== undefined && afterOperand
    if (isTyped && word !== undefined) {
      types.set(i, word.name)
      chars.fill(' ', word.at, word.at + word.name.length)
    }
    word = undefined
    if (c === '[' || c === '{') open.push(afterOperand && !isTyped ? 'other' : 'literal')
    else if (c === '(') open.push('other')
    else if (CLOSING.has(c)) open.pop()
    isEntryStart = (c === '[' || c === '{' || c === ',') && open.at(-1) === 'literal'
    afterOperand = CLOSING.has(c)
    i++
  }
  return { text: places.size + types.size === 0 ? text : chars.join(''), places, types }
}

const NONE: ReadonlySet<number> = new Set()
const NO_TYPES: ReadonlyMap<number, string> = new Map()
const NAME = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/
const LITERALS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null'])
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}'])
const MAX_WORD = 256

/** A string or bytes literal that starts here, whole. */
function textToken(text: string, at: number): string | undefined {
  const [, prefix = '', quote = ''] = /^([rRbB]{0,2})("""|'''|"|')/.exec(text.slice(at, at + 5)) ?? []
  if (quote === '') return undefined
  const isRaw = /[rR]/.test(prefix)
  for (let i = at + prefix.length + quote.length; i < text.length; i++) {
    if (!isRaw && text[i] === '\\') i++
    else if (text.startsWith(quote, i)) return text.slice(at, i + quote.length)
  }
  return text.slice(at)
}
