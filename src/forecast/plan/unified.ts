// The difference between two texts as git and diff show it: hunks of lines with three lines around them. Pure.
import { structuredPatch } from 'diff'

const CONTEXT = 3
/** Lines that differ: finding the shortest difference takes their square. Beyond it all is shown as replaced, which is true and not the shortest. */
const MAX_EDITS = 2_000

/** No lines for equal texts. */
export function unifiedLines(before: string, after: string): readonly string[] {
  const [old, now] = [ended(before), ended(after)]
  if (old === now) return []
  const patch = structuredPatch('', '', old, now, '', '', { context: CONTEXT, maxEditLength: MAX_EDITS })
  return (patch?.hunks ?? [replaced(old, now)]).flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`,
    ...lines,
  ])
}

/** A last line without an end is no other line. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** Of no lines the line before them is named. */
const rangeOf = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`

function replaced(before: string, after: string) {
  const [old, now] = [before, after].map((text) => text.split('\n').slice(0, -1))
  const lines = [...(old ?? []).map((line) => `-${line}`), ...(now ?? []).map((line) => `+${line}`)]
  return { oldStart: 1, oldLines: old?.length ?? 0, newStart: 1, newLines: now?.length ?? 0, lines }
}
