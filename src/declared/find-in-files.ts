// Where in a fleet's files an object is most likely declared: code made it, so only its words can be found. Pure, and bounded, because files and words
// are untrusted.

/** Listing more places than this does not help. */
const MAX_PLACES = 3
/** Each place costs a search through all files, and users fix only a few at a time. */
const MAX_SEARCHES = 20
/** The first words distinguish places; a selector may have thousands. */
const MAX_WORDS = 8
/** Names and versions are shorter. */
const MAX_WORD_CHARS = 256
/** Larger files are generated data. */
const MAX_FILE_CHARS = 512 * 1024
/** Ten times the files of a fleet with a thousand clusters; searching them takes about 20 ms. */
const MAX_CHARS = 8 * 1024 * 1024

type Files = Readonly<Record<string, string>>

/** Finds the place of an object with these words; undefined when no file contains the first word, or after the maximum number of searches. */
export type PlaceOf = (words: readonly string[]) => string | undefined

/** `fleet/machines/workers.ts:14`, from the file with the most matching words; all files if several have equally many. */
export function placesIn(all: Files): PlaceOf {
  let files: Files | undefined
  const known = new Map<string, string | undefined>()
  return (given) => {
    const words = given.slice(0, MAX_WORDS)
    const key = JSON.stringify(words)
    if (known.has(key)) return known.get(key)
    if (known.size >= MAX_SEARCHES || words.some((w) => w.length > MAX_WORD_CHARS)) return undefined
    files ??= searched(all)
    const place = placeOf(files, words)
    known.set(key, place)
    return place
  }
}

/** In name order, until there are enough: the choice must not depend on anything else. */
function searched(files: Files): Files {
  let chars = 0
  const entries = Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const fit = entries.filter(
    ([, text]) => text.length <= MAX_FILE_CHARS && chars <= MAX_CHARS && (chars += text.length) <= MAX_CHARS,
  )
  return Object.fromEntries(fit)
}

function placeOf(files: Files, words: readonly string[]): string | undefined {
  const [first = ''] = words
  if (first === '') return undefined
  const patterns = words.map(wholeWord)
  const has = (text: string, i: number): boolean => text.includes(words[i] ?? '') && patterns[i]?.test(text) === true
  const found = Object.entries(files).flatMap(([path, text]) =>
    has(text, 0) ? [{ path, text, count: words.filter((_, i) => has(text, i)).length }] : [],
  )
  const most = found.reduce((n, f) => Math.max(n, f.count), 0)
  const places = found
    .filter((f) => f.count === most)
    .slice(0, MAX_PLACES)
    .map(({ path, text }) => {
      const lines = text.split('\n')
      const withAll = lines.findIndex((l) => words.every((_, i) => has(l, i)))
      return `${path}:${(withAll === -1 ? lines.findIndex((l) => has(l, 0)) : withAll) + 1}`
    })
  return places.length === 0 ? undefined : places.join(' or ')
}

/** 1.0.0 does not match in 11.0.0 or 1.0.0.1, nor beacon in beacons. */
function wholeWord(word: string): RegExp {
  const before = /^\d/.test(word) ? '(?<!\\d|\\d\\.)' : /^\w/.test(word) ? '(?<!\\w)' : ''
  const after = /\w$/.test(word) ? '(?!\\w|\\.\\d)' : ''
  return new RegExp(`${before}${RegExp.escape(word)}${after}`)
}
