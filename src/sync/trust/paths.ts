// Path patterns: names with *, and ** for any number of folders. Matched step by step, so that no pattern takes long.

/** Whether the path matches one of the patterns; a pattern that ends in /** also matches the folder itself. */
export const isWithin = (path: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matches(pattern.split('/'), path.split('/'), segmentMatches))

/** Computes one table row at a time instead of searching: the work is the product of both lengths. */
function matches<T>(
  pattern: readonly string[],
  names: readonly T[],
  one: (pattern: string, name: T) => boolean,
  many = '**',
): boolean {
  let row = [true, ...names.map(() => false)]
  for (const part of pattern) {
    const next = [part === many && row[0] === true]
    for (let i = 0; i < names.length; i++)
      next.push(part === many ? next[i] === true || row[i + 1] === true : row[i] === true && one(part, names[i] as T))
    row = next
  }
  return row.at(-1) === true
}

const segmentMatches = (pattern: string, name: string): boolean =>
  pattern.includes('*') ? matches([...pattern], [...name], (a, b) => a === b, '*') : pattern === name
