// Where optional entries of literals stand (`[?x]`, `{?k: v}`): the package's parser does not know them. Each mark is read as a `!`
// in its place, which binds to what follows alike, so that the tree needs nothing but the place to be put right.

export interface Marked {
  /** As long as the expression, so that every position is the same. */
  readonly text: string
  readonly places: ReadonlySet<number>
}

type Bracket = 'literal' | 'other'

export function markedEntries(text: string): Marked {
  if (!text.includes('?')) return { text, places: NONE }
  const places = new Set<number>()
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
      i += token.length
      afterOperand = token !== 'in'
      isEntryStart = false
      continue
    }
    if (c === '?' && isEntryStart) places.add(i)
    if (c === '[' || c === '{') open.push(afterOperand ? 'other' : 'literal')
    else if (c === '(') open.push('other')
    else if (CLOSING.has(c)) open.pop()
    isEntryStart = (c === '[' || c === '{' || c === ',') && open.at(-1) === 'literal'
    afterOperand = CLOSING.has(c)
    i++
  }
  if (places.size === 0) return { text, places }
  return { text: [...Array(text.length).keys()].map((i) => (places.has(i) ? '!' : text.charAt(i))).join(''), places }
}

const NONE: ReadonlySet<number> = new Set()
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
