// The output of a step, within the limit of its field: the end says how it went. Pure.

export const MAX_OUTPUT = 2_048

/** Whole lines from the end, as many as fit. The last line is cut if it alone is too long. */
export function outputEnd(output: string, most = MAX_OUTPUT): string {
  if (output.length <= most) return output
  const end = output.slice(-most)
  // The character before: a cut right behind a line leaves the next one whole.
  const start = output.at(-most - 1) === '\n' ? 0 : end.indexOf('\n') + 1
  return start < end.length ? end.slice(start) : end
}
