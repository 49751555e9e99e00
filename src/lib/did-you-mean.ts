// The known word that a user most likely meant, for "did you mean" messages.

/** Longer words are not compared: the cost grows with the square. */
const MAX_WORD_CHARS = 128

/** With more names, one suggestion does not help, and each comparison takes some microseconds. */
const MAX_CANDIDATES = 1_000

/** The nearest of `known` within a third of the word's length, rounded up; undefined if none is near. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  if (word.length > MAX_WORD_CHARS) return undefined
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.ceil(word.length / 3) + 1
  let compared = 0
  for (const candidate of known) {
    if (++compared > MAX_CANDIDATES) break
    if (candidate.length > MAX_WORD_CHARS || Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(lower, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, deletions, substitutions and swaps of adjacent characters. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let d = Math.min((row[j - 1] ?? 0) + 1, (previous[j] ?? 0) + 1, (previous[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, (before[j - 2] ?? 0) + 1)
      row.push(d)
    }
    before = previous
    previous = row
  }
  return previous[b.length] ?? 0
}
