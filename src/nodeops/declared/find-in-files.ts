// Where in the files of a fleet a declared thing most likely stands: code made the object, so its place can only be found by its words. Pure.

/** `fleet/machines/workers.ts:14`, of the file that has most of the words; undefined when no file has the first one. */
export function placeInFiles(files: Readonly<Record<string, string>>, words: readonly string[]): string | undefined {
  const [first = ''] = words
  if (first === '') return undefined
  const found = Object.entries(files).flatMap(([path, text]) => {
    if (!text.includes(first)) return []
    return [{ path, text, count: words.filter((w) => text.includes(w)).length }]
  })
  const best = found.toSorted((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1))[0]
  if (best === undefined) return undefined
  const lines = best.text.split('\n')
  const withAll = lines.findIndex((l) => words.every((w) => l.includes(w)))
  return `${best.path}:${(withAll === -1 ? lines.findIndex((l) => l.includes(first)) : withAll) + 1}`
}
