// Where in the files of a fleet an object most likely is declared: code made it, so only its words can be found.
// Pure, and bounded, since files and words are untrusted.

/** More places than these help no reader. */
const MAX_PLACES = 3
/** Each place costs a search through all files, and users fix only a few at a time. */
const MAX_SEARCHES = 20
/** The first words tell places apart; a selector may have thousands. */
const MAX_WORDS = 8
/** Names and versions are shorter. */
const MAX_WORD_CHARS = 256
/** Larger files are data that a program made. */
const MAX_FILE_CHARS = 512 * 1024
/** The files of a fleet of a thousand clusters, ten times over; searching them takes some 20 ms. */
const MAX_CHARS = 8 * 1024 * 1024

type Files = Readonly<Record<string, string>>

/** Finds the place of an object with these words; undefined when no file has the first of them, or after the maximum number of searches. */
export type PlaceOf = (words: readonly string[]) => string | undefined

/** `fleet/machines/workers.ts:14`, of the file that has most of the words; all of several that have as many. */
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

/** In the order of their names, until there are enough: which are searched depends on nothing else. */
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

/** 1.0.0 is no part of 11.0.0 or 1.0.0.1, and beacon none of beacons. */
function wholeWord(word: string): RegExp {
  const before = /^\d/.test(word) ? '(?<!\\d|\\d\\.)' : /^\w/.test(word) ? '(?<!\\w)' : ''
  const after = /\w$/.test(word) ? '(?!\\w|\\.\\d)' : ''
  return new RegExp(`${before}${RegExp.escape(word)}${after}`)
}
