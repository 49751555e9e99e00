// Shows what a command is waiting for once it takes long enough to wonder: on a terminal one line with seconds that is removed at the end; elsewhere one line.
import { type Clock } from '../clock.ts'
import { systemClock } from '../system-clock.ts'
import { printableLine } from '../printable.ts'
import type { Io } from './io.ts'

const SLOW_MS = 2_000
/** In a pipe only waits slow enough to matter in a log are shown. */
const SLOW_IN_PIPE_MS = 5_000
const EVERY_MS = 1_000
const CLEAR_LINE = '\r\u001b[K'

/** Clears a line of this length. If the window became narrower, the terminal wrapped it into several rows. */
function clearOf(length: number, width: number | undefined): string {
  const more = width === undefined ? 0 : Math.floor(length / width)
  return more === 0 ? CLEAR_LINE : `\r\u001b[${more}A\u001b[J`
}

/** Work that can report its progress. */
export type Shown = (elapsedMs: number) => string

export async function withProgress<T>(
  io: Pick<Io, 'err' | 'errWidth'>,
  what: string | Shown,
  work: Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const start = clock.monotonic()
  let drawn = 0
  const draw = (): void => {
    const width = io.errWidth?.()
    const line = printableLine(typeof what === 'string' ? what : what(clock.monotonic() - start))
    if (width === undefined) {
      io.err(`${line}\n`)
      return
    }
    const seconds = ` ${Math.round((clock.monotonic() - start) / 1_000)}s`
    const most = Math.max(1, width - seconds.length - 1)
    const text = `${line.length <= most ? line : `${line.slice(0, most - 1)}…`}${seconds}`
    io.err(`${clearOf(drawn, width)}${text}`)
    drawn = text.length
    timer = clock.after(EVERY_MS, draw)
  }
  let timer = clock.after(io.errWidth?.() === undefined ? SLOW_IN_PIPE_MS : SLOW_MS, draw)
  try {
    return await work
  } finally {
    timer.cancel()
    if (drawn > 0) io.err(clearOf(drawn, io.errWidth?.()))
  }
}
