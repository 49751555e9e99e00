// One edited file of a fleet. Which files can be edited, and how one is read.

/** Path and new content. */
export interface Edit {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
}

/** Mail preserves no other line endings. */
export const isPlain = (text: string): boolean => text.endsWith('\n') && !text.includes('\r')

/** Undefined for text that is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
