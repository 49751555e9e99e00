// Breaks lines between words so that each fits a window; what continues a line is indented below it. Pure.

const CONTINUED = 2

export function wrapped(line: string, columns: number): readonly string[] {
  if (line.length < columns) return [line]
  const indent = line.length - line.trimStart().length
  const out: string[] = []
  let at = ' '.repeat(indent)
  for (const word of line.trim().split(' ')) {
    const isFirst = at.trim() === ''
    if (!isFirst && at.length + 1 + word.length >= columns) {
      out.push(at)
      at = `${' '.repeat(indent + CONTINUED)}${word}`
    } else at = isFirst ? `${at}${word}` : `${at} ${word}`
  }
  return [...out, at]
}
