// Counts the fields and list items of a JSON text before it is parsed: parsing, validating and merging cost by the
// item, not by the byte.
import { isObject } from '#lib/json.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b

/** Each item follows a comma or the beginning of a list or an object. Of a text that is no JSON it says nothing. */
export function hasMoreNodes(text: Uint8Array, most: number): boolean {
  if (text.length <= most) return false
  let nodes = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === QUOTE) {
      for (i++; i < text.length && text[i] !== QUOTE; i++) if (text[i] === BACKSLASH) i++
    } else if ((c === COMMA || c === BRACKET || c === BRACE) && ++nodes > most) return true
  }
  return false
}

/** The same for a value parsed from another format; a part that is referenced several times counts each time. */
export function valueHasMoreNodes(value: unknown, most: number): boolean {
  let left = most
  const isOver = (v: unknown): boolean => {
    if (Array.isArray(v)) return (left -= v.length) < 0 || v.some(isOver)
    if (!isObject(v)) return false
    const values = Object.values(v)
    return (left -= values.length) < 0 || values.some(isOver)
  }
  return isOver(value)
}
