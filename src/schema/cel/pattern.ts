// Regular expressions of CEL: RE2, linear in the text whatever the pattern; compiled once and kept in a bounded cache.
import { RE2JS } from 're2js'

/** Longer patterns are refused: a program of RE2 grows with its pattern. */
const MAX_PATTERN_LENGTH = 4096
/** Patterns kept compiled; those that expressions compute at run time push the oldest out. */
const MAX_CACHED = 256

const cache = new Map<string, RE2JS | undefined>()

/** Undefined when the text is no RE2 pattern. */
export function pattern(text: string): RE2JS | undefined {
  if (cache.has(text)) return cache.get(text)
  const compiled = compile(text)
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value ?? '')
  cache.set(text, compiled)
  return compiled
}

function compile(text: string): RE2JS | undefined {
  if (text.length > MAX_PATTERN_LENGTH) return undefined
  try {
    return RE2JS.compile(text)
  } catch {
    return undefined
  }
}

export const isPattern = (text: string): boolean => pattern(text) !== undefined
