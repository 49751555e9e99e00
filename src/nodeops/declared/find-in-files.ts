// Where in the files of a fleet a declared thing most likely stands: code made the object, so its place can only be found by its words. Pure.

/** More places than these help nobody. */
const MAX_PLACES = 3

/** `fleet/machines/workers.ts:14`, of the file that has most of the words; all of several that have as many. Undefined when no file has the first word. */
export function placeInFiles(files: Readonly<Record<string, string>>, words: readonly string[]): string | undefined {
  const [first = ''] = words
  if (first === '') return undefined
  const patterns = words.map(wholeWord)
  const has = (text: string, i: number): boolean => patterns[i]?.test(text) === true
  const found = Object.entries(files).flatMap(([path, text]) =>
    has(text, 0) ? [{ path, text, count: words.filter((_, i) => has(text, i)).length }] : [],
  )
  const most = Math.max(...found.map((f) => f.count))
  const places = found
    .filter((f) => f.count === most)
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, text }) => {
      const lines = text.split('\n')
      const withAll = lines.findIndex((l) => words.every((_, i) => has(l, i)))
      return `${path}:${(withAll === -1 ? lines.findIndex((l) => has(l, 0)) : withAll) + 1}`
    })
  return places.length === 0 ? undefined : places.slice(0, MAX_PLACES).join(' or ')
}

/** 1.0.0 is no part of 11.0.0 or 1.0.0.1, and beacon none of beacons. */
function wholeWord(word: string): RegExp {
  const before = /^\d/.test(word) ? '(?<!\\d|\\d\\.)' : /^\w/.test(word) ? '(?<!\\w)' : ''
  const after = /\w$/.test(word) ? '(?!\\w|\\.\\d)' : ''
  return new RegExp(`${before}${RegExp.escape(word)}${after}`)
}
