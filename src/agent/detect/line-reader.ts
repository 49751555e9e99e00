// Pure: splits bytes into lines. A line that is too long is cut at the limit; invalid text becomes replacement characters.
export interface LineState {
  /** Bytes after the last newline. */
  readonly rest: Buffer
  /** The rest of a line is being skipped because its beginning was already too long. */
  readonly isSkipping: boolean
}

export const NO_LINE: LineState = { rest: Buffer.alloc(0), isSkipping: false }

/** Meaningful log lines are never longer. */
export const MAX_LINE_BYTES = 16_384

export function cutLines(
  state: LineState,
  chunk: Buffer,
): { readonly lines: readonly string[]; readonly state: LineState } {
  const lines: string[] = []
  let { isSkipping } = state
  const bytes = state.rest.length === 0 ? chunk : Buffer.concat([state.rest, chunk])
  let from = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
    if (!isSkipping) lines.push(text(bytes.subarray(from, Math.min(end, from + MAX_LINE_BYTES))))
    isSkipping = false
    from = end + 1
  }
  const rest = bytes.subarray(from)
  if (rest.length <= MAX_LINE_BYTES) return { lines, state: { rest: Buffer.from(rest), isSkipping } }
  if (!isSkipping) lines.push(text(rest.subarray(0, MAX_LINE_BYTES)))
  return { lines, state: { rest: Buffer.alloc(0), isSkipping: true } }
}

const text = (bytes: Buffer): string => bytes.toString('utf8')
