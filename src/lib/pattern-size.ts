// The size of a pattern with its repetitions expanded. Computed before compiling, which takes time proportional to the result.

/** Close to the number of compiled instructions, and never below a third of them. Total: an invalid pattern gets some number. */
export function expandedSize(pattern: string): number {
  /** For each open group: its size so far, and its last part's size, which a repetition multiplies. */
  const open: { total: number; last: number }[] = [{ total: 0, last: 0 }]
  const top = () => open[open.length - 1] ?? { total: 0, last: 0 }
  const add = (size: number): void => {
    const group = top()
    group.total += group.last
    group.last = size
  }
  for (let i = 0; i < pattern.length;) {
    const c = pattern[i]
    if (c === '\\') {
      const end = pattern[i + 1] === 'Q' ? quoteEnd(pattern, i) : escapeEnd(pattern, i)
      if (pattern[i + 1] === 'Q') add(end - i)
      add(1)
      i = end
    } else if (c === '[') {
      add(1)
      i = classEnd(pattern, i)
    } else if (c === '(') {
      const [prefix] = GROUP.exec(pattern.slice(i, i + LONGEST_GROUP)) ?? ['(']
      open.push({ total: prefix === '(' || prefix.endsWith('>') ? CAPTURE : 0, last: 0 })
      i += prefix.length
    } else if (c === ')') {
      const { total, last } = open.length > 1 ? (open.pop() ?? top()) : { total: 0, last: 0 }
      add(total + last)
      i++
    } else if (c === '{') {
      const [text = '', from = '', to] = REPEAT.exec(pattern.slice(i, i + LONGEST_REPEAT)) ?? []
      if (text === '') add(1)
      // An open end (`{3,}`) is one more turn; each optional turn has its own instruction.
      else top().last *= Math.max(1, to === undefined ? Number(from) : to === '' ? Number(from) + 1 : Number(to))
      i += Math.max(1, text.length)
    } else {
      if (c === '*' || c === '+' || c === '?') top().last += 1
      else add(1)
      i++
    }
  }
  return open.reduce((sum, { total, last }) => sum + total + last, 0)
}

/** `{1000,1000}`; RE2 accepts no count above 1,000. */
const LONGEST_REPEAT = 11
/** The two instructions around a capturing group. */
const CAPTURE = 2
/** `(?P<name>`, `(?i:`; a longer name counts as text. */
const LONGEST_GROUP = 64
const GROUP = /^\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?/
const REPEAT = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/

function quoteEnd(pattern: string, at: number): number {
  const end = pattern.indexOf('\\E', at + 2)
  return end < 0 ? pattern.length : end + 2
}

/** Includes `\p{Greek}` and `\x{10FFFF}`, whose braces are not repetitions. */
function escapeEnd(pattern: string, at: number): number {
  const isLong = /[pPx]/.test(pattern[at + 1] ?? '') && pattern[at + 2] === '{'
  const end = isLong ? pattern.indexOf('}', at) : -1
  return end < 0 ? at + 2 : end + 1
}

/** A bracket in first position is a member, as are escaped ones and named classes (`[:alpha:]`). */
function classEnd(pattern: string, at: number): number {
  let i = at + 1
  if (pattern[i] === '^') i++
  if (pattern[i] === ']') i++
  for (; i < pattern.length && pattern[i] !== ']'; i++) {
    if (pattern[i] === '\\') i++
    else if (pattern.startsWith('[:', i)) i = Math.max(i, pattern.indexOf(':]', i) + 1)
  }
  return i + 1
}
