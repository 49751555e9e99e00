// What is wrong with a JSON file of a fleet. A parser takes the last of two equal keys: the other, such as a cluster of the same name in another stage, would be
// dropped without a word.
const { parse } = JSON
/** In the text of the parser; without one the text ends too early. */
const PLACE = /\(line (\d+) column/
const MAX_KEY_CHARS = 100

export interface JsonProblem {
  readonly why: string
  readonly line: number
}

export function jsonProblem(source: string): JsonProblem | undefined {
  // As the loader of Node.js reads it.
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source
  try {
    parse(text)
  } catch (error) {
    const why = (error as Error).message
    const line = PLACE.exec(why)?.[1]
    return { why, line: line === undefined ? lineAt(text, text.length) : Number(line) }
  }
  const repeated = repeatedKey(text)
  if (repeated === undefined) return undefined
  const { key, at } = repeated
  return { why: `the key ${key.slice(0, MAX_KEY_CHARS)} is used twice; keep one`, line: lineAt(text, at) }
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length

/** The first key, as it is written, that an object has twice. The text must be valid JSON. */
function repeatedKey(text: string): { readonly key: string; readonly at: number } | undefined {
  /** Keys of each object that is open; undefined for a list. */
  const open: (Set<unknown> | undefined)[] = []
  let mayBeKey = false
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    if (c === '{' || c === '[') {
      open.push(c === '{' ? new Set() : undefined)
      mayBeKey = c === '{'
    } else if (c === '}' || c === ']') open.pop()
    else if (c === ',') mayBeKey = open.at(-1) !== undefined
    else if (c === ':') mayBeKey = false
    else if (c === '"') {
      const end = endOfText(text, at)
      if (mayBeKey) {
        const key = text.slice(at, end + 1)
        const name: unknown = parse(key)
        const keys = open.at(-1)
        if (keys?.has(name) === true) return { key, at }
        keys?.add(name)
      }
      at = end
    }
  }
  return undefined
}

/** Of the quote that closes the text. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
