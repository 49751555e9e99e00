// Shows the state of a user's local fleet, at once or when it is in sync with git.
import { formatAge, parseDuration } from '#lib/duration.ts'
import { shownLine, shownLines } from '#lib/printable.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withPages } from '#lib/terminal/pages.ts'
import type { Screen } from '#lib/terminal/screen.ts'
import { connector } from './connector.ts'
import { dataFolder } from './data-folder.ts'
import { ownFleetFolder } from './own-fleet.ts'
import { fleetStatus } from './status.ts'

export interface StatusAsked {
  readonly data?: string
  readonly wait?: boolean
  readonly timeout: string
}

/** Shows pending waits next to the data. */
type WaitScreen = Pick<Screen, 'isTerminal' | 'show' | 'end'>

/** Exits with 1 if it is out of sync with git or something needs attention. */
export async function showStatus(
  { data, wait = false, timeout }: StatusAsked,
  screen: WaitScreen,
  io: Io,
): Promise<void> {
  const waitMs = parseDuration(timeout)
  const began = systemClock.monotonic()
  const waited = () => `waited ${formatAge(systemClock.monotonic() - began)} of ${timeout}`
  const { lines, missing, stuck, attention } = await fleetStatus({
    data: dataFolder(data, ownFleetFolder(io.cwd, releaseRoot()), io.cwd),
    waitMs: wait ? waitMs : 0,
    connect: connector,
    onWait: (reasons, picture) => {
      const lines = reasons.map((what) => `waiting for: ${what}`)
      screen.show(screen.isTerminal ? [...picture, ...lines, waited()] : lines)
    },
  }).finally(() => screen.end())
  io.out(shownLines(lines))
  if (attention !== undefined) io.out(`\n${withPages(shownLines(attention.lines), io.cwd)}`)
  for (const reason of missing) showProblem(io, shownLine(reason))
  const isLate = systemClock.monotonic() - began >= waitMs
  const end = wait && missing.length > 0 ? endOfWait(stuck, isLate, timeout) : undefined
  if (end !== undefined) showProblem(io, shownLine(end))
  if (missing.length > 0 || (attention?.needsPerson ?? 0) > 0) throw new Exit(EXIT_DIFFERENT)
}

/** Why a wait ended before the fleet was in sync; undefined if there was nothing to wait for. */
export const endOfWait = (stuck: string | undefined, isLate: boolean, timeout: string): string | undefined => {
  if (stuck !== undefined) return `no longer waiting: ${stuck}`
  return isLate ? `timed out waiting after ${timeout}: the fleet continues; to wait longer, add --timeout` : undefined
}
