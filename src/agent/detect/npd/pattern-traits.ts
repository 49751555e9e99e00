// Pure: what the text of an RE2 pattern shows without running it: a literal that every match contains, and whether a match can span lines. For a pattern
// that it does not understand, nothing is known: that costs time, but never misses a match.

export interface PatternTraits {
  /** A substring of every matching text; undefined when none is known. Never contains a newline. */
  readonly literal: string | undefined
  readonly isOneLine: boolean
}

const NOTHING: PatternTraits = { literal: undefined, isOneLine: false }

/** Shorter literals occur in too many lines to save anything. */
const MIN_LITERAL = 3
const MAX_DEPTH = 32

interface Part {
  /** The longest literal of every match. */
  readonly literal: string
  readonly mayEndLines: boolean
}

class Unknown extends Error {}

export function traitsOf(pattern: string): PatternTraits {
  try {
    const { literal, mayEndLines } = new Reader(pattern).whole()
    return { literal: literal.length < MIN_LITERAL ? undefined : literal, isOneLine: !mayEndLines }
  } catch (e) {
    if (e instanceof Unknown) return NOTHING
    throw e
  }
}

const longer = (a: string, b: string): string => (b.length > a.length ? b : a)

/** Escapes that mean one character. */
const CHARACTERS: Readonly<Record<string, string>> = { t: '\t', r: '\r', f: '\f', v: '\v' }
/** Escapes of which only one thing is known: whether they match a newline. */
const CLASSES: Readonly<Record<string, boolean>> = { d: false, w: false, S: false, s: true, D: true, W: true }

class Reader {
  readonly #p: string
  #at = 0

  constructor(pattern: string) {
    this.#p = pattern
  }

  whole(): Part {
    const part = this.#alternatives(0)
    if (this.#at < this.#p.length) throw new Unknown()
    return part
  }

  #alternatives(depth: number): Part {
    if (depth > MAX_DEPTH) throw new Unknown()
    let all = this.#sequence(depth)
    while (this.#p[this.#at] === '|') {
      this.#at++
      const next = this.#sequence(depth)
      all = { literal: '', mayEndLines: all.mayEndLines || next.mayEndLines }
    }
    return all
  }

  #sequence(depth: number): Part {
    let best = ''
    let run = ''
    let mayEndLines = false
    const flush = (): void => {
      best = longer(best, run)
      run = ''
    }
    while (this.#at < this.#p.length && !'|)'.includes(this.#p[this.#at] ?? '')) {
      const atom = this.#atom(depth)
      mayEndLines ||= atom.mayEndLines
      const times = this.#quantifier()
      if (atom.character !== undefined && times === 'Once') run += atom.character
      else {
        // At least one repetition: the first one belongs to the preceding literal.
        if (atom.character !== undefined && times === 'Some') run += atom.character
        flush()
        if (atom.character === undefined && times !== 'Maybe') best = longer(best, atom.literal)
      }
    }
    flush()
    return { literal: best, mayEndLines }
  }

  #quantifier(): 'Once' | 'Some' | 'Maybe' {
    const c = this.#p[this.#at]
    if (c === '+' || c === '*' || c === '?') {
      this.#at++
      if (this.#p[this.#at] === '?') this.#at++
      if ('+*?'.includes(this.#p[this.#at] ?? ' ')) throw new Unknown()
      return c === '+' ? 'Some' : 'Maybe'
    }
    if (c !== '{') return 'Once'
    const counts = /^\{(\d+)(?:,\d*)?\}\??/.exec(this.#p.slice(this.#at))
    if (counts === null) throw new Unknown()
    this.#at += counts[0].length
    return Number(counts[1]) > 0 ? 'Some' : 'Maybe'
  }

  #atom(depth: number): Part & { readonly character?: string } {
    const c = this.#p[this.#at++] ?? ''
    switch (c) {
      case '.':
      case '$':
        return { literal: '', mayEndLines: false }
      case '(':
        return this.#group(depth)
      case '[':
        return { literal: '', mayEndLines: this.#class() }
      case '\\':
        return this.#escape()
      case '^':
        // The beginning of the buffer, which is a different line.
        return { literal: '', mayEndLines: true }
      case '*':
      case '+':
      case '?':
      case '{':
        throw new Unknown()
      case '\n':
        return { literal: '', mayEndLines: true }
      default:
        return { literal: '', mayEndLines: false, character: c }
    }
  }

  #group(depth: number): Part {
    if (this.#p[this.#at] === '?') {
      const plain = /^\?(?::|P?<\w+>)/.exec(this.#p.slice(this.#at))
      // Flags change the meaning of the rest of the pattern.
      if (plain === null) throw new Unknown()
      this.#at += plain[0].length
    }
    const inner = this.#alternatives(depth + 1)
    if (this.#p[this.#at++] !== ')') throw new Unknown()
    return inner
  }

  #escape(): Part & { readonly character?: string } {
    const c = this.#p[this.#at++] ?? ''
    if (c === 'n') return { literal: '', mayEndLines: true }
    const known = CLASSES[c]
    if (known !== undefined) return { literal: '', mayEndLines: known }
    if (c === 'b' || c === 'B' || c === 'z') return { literal: '', mayEndLines: false }
    const character = CHARACTERS[c] ?? (/[^\w]/.test(c) && c !== '\n' ? c : undefined)
    if (character === undefined) throw new Unknown()
    return { literal: '', mayEndLines: false, character }
  }

  /** Whether the class may match a newline; reads to its closing bracket. */
  #class(): boolean {
    const body = /^(\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*)\]/.exec(this.#p.slice(this.#at))
    const text = body?.[1]
    if (body === null || text === undefined) throw new Unknown()
    this.#at += body[0].length
    // Only safe parts: letters, digits, punctuation, ranges of them, and the classes without newlines.
    return !/^(?:\\[dwS.\-[\]/\\]|[a-zA-Z0-9_ :;,./<>=@%#!"'~-])*$/.test(text)
  }
}
