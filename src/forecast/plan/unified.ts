// The difference of two texts in git's unified format: hunks with three lines of context. Pure.
import { structuredPatch } from 'diff'

const CONTEXT = 3
/** Finding the shortest difference takes quadratic time. Beyond this many changed lines everything is shown as replaced: correct, but not minimal. */
const MAX_EDITS = 2_000

/** Empty for equal texts. */
export function unifiedLines(before: string, after: string): readonly string[] {
  const [old, now] = [ended(before), ended(after)]
  if (old === now) return []
  const patch = structuredPatch('', '', old, now, '', '', { context: CONTEXT, maxEditLength: MAX_EDITS })
  return (patch?.hunks ?? [replaced(old, now)]).flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`,
    ...lines,
  ])
}

/** A missing newline at the end is not a difference. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** For an empty range, git gives the preceding line. */
const rangeOf = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`

function replaced(before: string, after: string) {
  const [old, now] = [before, after].map((text) => text.split('\n').slice(0, -1))
  const lines = [...(old ?? []).map((line) => `-${line}`), ...(now ?? []).map((line) => `+${line}`)]
  return { oldStart: 1, oldLines: old?.length ?? 0, newStart: 1, newLines: now?.length ?? 0, lines }
}
