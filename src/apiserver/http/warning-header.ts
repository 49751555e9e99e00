// Warnings as headers: complete while they are few, else truncated.

/** Of all together; headers are small. */
const MAX_CHARACTERS = 4 * 1024
/** Of each, when all would be too many. */
const BEGINNING = 256

export function warningHeaders(warnings: Iterable<string>): readonly string[] {
  const texts = [...warnings]
  const total = texts.reduce((n, t) => n + t.length, 0)
  if (total <= MAX_CHARACTERS) return texts.map(warningHeader)
  let left = MAX_CHARACTERS
  const out: string[] = []
  for (const text of texts) {
    const beginning = text.slice(0, BEGINNING)
    if (beginning.length > left) break
    left -= beginning.length
    out.push(warningHeader(beginning))
  }
  return out
}

/** Quoted text without control characters, in latin1 as headers are. */
function warningHeader(text: string): string {
  const quoted = text.replace(/[\\"]/g, (c) => `\\${c}`)
  return `299 - "${quoted.replace(/[\n\r\t]/g, ' ').replace(/[^\u0020-\u007e\u0080-\u00ff]/g, '?')}"`
}
