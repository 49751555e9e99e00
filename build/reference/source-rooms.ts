// How large each room of the sources is, in the table of rooms of docs/contributing/architecture.md. Why it is a room is written there by hand.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export const ARCHITECTURE_PAGE = 'docs/contributing/architecture.md'

const ROW = /^\| \[`[a-z]+`\]\((?:\.\.\/)+([\w/]+)\/README\.md\) \| ([\d,]+) \|/gm
const UNIT = 100
/** A figure that is about right stays, so that not every commit changes the page. */
const TOLERATED = 0.2

/** Folders from the root of the repository, in the order of the table. */
export const roomsIn = (page: string): readonly string[] => [...page.matchAll(ROW)].map((m) => m[1] ?? '')

/** `linesOf` counts the lines of a folder. */
export const withRoomLines = (page: string, linesOf: (folder: string) => number): string =>
  page.replace(ROW, (row, folder: string, written: string) => {
    const lines = linesOf(folder)
    const stated = Number(written.replaceAll(',', ''))
    if (Math.abs(stated - lines) <= lines * TOLERATED) return row
    return row.replace(`| ${written} |`, `| ${rounded(lines).toLocaleString('en-US')} |`)
  })

const rounded = (lines: number): number => Math.max(UNIT, Math.round(lines / UNIT) * UNIT)

/** Without tests. */
export function sourceLines(folder: string): number {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  return sources.reduce((sum, file) => sum + readFileSync(join(folder, file), 'utf8').split('\n').length - 1, 0)
}
