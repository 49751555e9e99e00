// Reads JSON text itself where the engine's parser reports too little: duplicate keys, and syntax errors in Go's words.

export interface ScannedJson {
  readonly value: unknown
  /** Paths of keys that occur more than once in one object, in order of appearance. */
  readonly duplicates: readonly string[]
}

/** Cheap test whether a text may have duplicate keys: it has more keys than the parsed value. */
export const hasDuplicateKeys = (text: string, value: unknown): boolean => keysInText(text) !== keysInValue(value)

function keysInText(text: string): number {
  let keys = 0
  let at = 0
  for (;;) {
    const open = text.indexOf('"', at)
    if (open < 0) return keys
    let close = open + 1
    for (;;) {
      close = text.indexOf('"', close)
      if (close < 0) return keys
      let slashes = 0
      while (text.charCodeAt(close - 1 - slashes) === 92) slashes++
      if (slashes % 2 === 0) break
      close++
    }
    at = close + 1
    while (isSpace(text.charCodeAt(at))) at++
    if (text.charCodeAt(at) === 58) keys++
  }
}

function keysInValue(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let n = 0
  if (Array.isArray(value)) for (const item of value) n += keysInValue(item)
  else
    for (const k in value) {
      n++
      const v = (value as Record<string, unknown>)[k]
      if (typeof v === 'object') n += keysInValue(v)
    }
  return n
}

const isSpace = (c: number): boolean => c === 32 || c === 10 || c === 13 || c === 9

/**
 * Parses again, counting keys. A later scalar or list wins; two objects under one key are merged, since Go decodes
 * the second into the same map. The text must be valid JSON.
 */
export function scanDuplicates(text: string, parse: (text: string) => unknown): ScannedJson {
  const duplicates: string[] = []
  let at = 0
  const space = () => {
    while (isSpace(text.charCodeAt(at))) at++
  }
  const string = (): string => {
    const start = at++
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    at++
    return String(parse(text.slice(start, at)))
  }
  const read = (path: string): unknown => {
    space()
    const c = text[at]
    if (c === '{') return object(path)
    if (c === '[') {
      const items: unknown[] = []
      at++
      for (space(); text[at] !== ']'; space()) {
        items.push(read(`${path}[${items.length}]`))
        space()
        if (text[at] === ',') at++
      }
      at++
      return items
    }
    if (c === '"') return string()
    const start = at
    while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at++
    return parse(text.slice(start, at))
  }
  const object = (path: string): Record<string, unknown> => {
    const out: Record<string, unknown> = {}
    const seen = new Set<string>()
    at++
    for (space(); text[at] !== '}'; space()) {
      const key = string()
      space()
      at++
      const below = path === '' ? key : `${path}.${key}`
      const value = read(below)
      if (seen.has(key) && !duplicates.includes(below)) duplicates.push(below)
      const before = out[key]
      const merge = seen.has(key) && isMap(before) && isMap(value)
      seen.add(key)
      Object.defineProperty(out, key, {
        value: merge ? { ...before, ...value } : value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
      space()
      if (text[at] === ',') at++
    }
    at++
    return out
  }
  return { value: read(''), duplicates }
}

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)

/** Far more than any valid object has, and less than the stack allows. */
const MAX_DEPTH = 1_000

/** The first syntax error, in the words of Go's encoding/json; undefined when there is none. */
export function goSyntaxError(text: string): string | undefined {
  let at = 0
  const END = 'unexpected end of JSON input'
  const shown = () => {
    const c = text[at] ?? ''
    return c === "'" ? `'\\''` : c === '"' ? `'"'` : `'${c}'`
  }
  const bad = (context: string): string => (at >= text.length ? END : `invalid character ${shown()} ${context}`)
  const space = () => {
    while (isSpace(text.charCodeAt(at))) at++
  }
  const string = (): string | undefined => {
    at++
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at)
      if (c === 34) {
        at++
        return undefined
      }
      if (c < 32) return `invalid character '\\x${c.toString(16).padStart(2, '0')}' in string literal`
      if (c !== 92) continue
      at++
      if (at >= text.length) return END
      if (text[at] === 'u') {
        for (let i = 0; i < 4; i++) {
          at++
          if (!/[0-9a-fA-F]/.test(text[at] ?? '')) return bad('in \\u hexadecimal character escape')
        }
      } else if (!'"\\/bfnrt'.includes(text[at] ?? '')) return bad('in string escape code')
    }
    return END
  }
  const literal = (word: string): string | undefined => {
    for (const c of word) {
      if (text[at] !== c) return bad(`in literal ${word} (expecting '${c}')`)
      at++
    }
    return undefined
  }
  const number = (): string | undefined => {
    const digits = (context: string): string | undefined => {
      if (!/\d/.test(text[at] ?? '')) return bad(context)
      while (/\d/.test(text[at] ?? '')) at++
      return undefined
    }
    if (text[at] === '-') at++
    if (text[at] === '0') at++
    else {
      const e = digits('in numeric literal')
      if (e !== undefined) return e
    }
    if (text[at] === '.') {
      at++
      const e = digits('after decimal point in numeric literal')
      if (e !== undefined) return e
    }
    if (text[at] === 'e' || text[at] === 'E') {
      at++
      if (text[at] === '+' || text[at] === '-') at++
      return digits('in exponent of numeric literal')
    }
    return undefined
  }
  const value = (depth: number): string | undefined => {
    space()
    const c = text[at]
    if (depth > MAX_DEPTH) return bad('exceeded max depth')
    if (c === '{') {
      at++
      space()
      if (text[at] === '}') {
        at++
        return undefined
      }
      for (;;) {
        space()
        if (text[at] !== '"') return bad('looking for beginning of object key string')
        const key = string()
        if (key !== undefined) return key
        space()
        if (text[at] !== ':') return bad('after object key')
        at++
        const inner = value(depth + 1)
        if (inner !== undefined) return inner
        space()
        if (text[at] === '}') {
          at++
          return undefined
        }
        if (text[at] !== ',') return bad('after object key:value pair')
        at++
      }
    }
    if (c === '[') {
      at++
      space()
      if (text[at] === ']') {
        at++
        return undefined
      }
      for (;;) {
        const inner = value(depth + 1)
        if (inner !== undefined) return inner
        space()
        if (text[at] === ']') {
          at++
          return undefined
        }
        if (text[at] !== ',') return bad('after array element')
        at++
      }
    }
    if (c === '"') return string()
    if (c === 't') return literal('true')
    if (c === 'f') return literal('false')
    if (c === 'n') return literal('null')
    if (c === '-' || /\d/.test(c ?? '')) return number()
    return bad('looking for beginning of value')
  }
  const problem = value(0)
  if (problem !== undefined) return problem
  space()
  return at < text.length ? bad('after top-level value') : undefined
}
