// What a command waits for, beside its data: on a terminal one block that is redrawn and removed at the end, elsewhere a line for each change.
import type { Clock } from '#lib/clock.ts'
import { formatAge } from '#lib/duration.ts'
import { createScreen, type Screen } from '#local/screen.ts'
import type { Io } from './io.ts'
import { linePainter } from './paint-line.ts'
import { hasColors, paintOf } from './paint.ts'

const USUAL_ROWS = 50

export function waitScreen(io: Io): Pick<Screen, 'isTerminal' | 'say' | 'show' | 'end'> {
  const isTerminal = io.errWidth?.() !== undefined
  const screen = createScreen((text) => io.err(text), {
    isTerminal,
    foldsLongLines: true,
    paint: linePainter(paintOf(hasColors({ ...io, isTerminal }))),
    size: () => ({ columns: io.errWidth?.() ?? 100, rows: process.stderr.rows || USUAL_ROWS }),
  })
  return {
    isTerminal,
    say: (line) => screen.say(line),
    show: (lines) => screen.show(lines),
    end() {
      screen.show([])
      screen.end()
    },
  }
}

/** Several waits at once, each in a line with its time. */
export function liveWaits(
  screen: Pick<Screen, 'show'>,
  clock: Pick<Clock, 'monotonic'>,
): (what: string, why: string | undefined) => void {
  const waits = new Map<string, { readonly why: string; readonly since: number }>()
  return (what, why) => {
    const now = clock.monotonic()
    if (why === undefined) waits.delete(what)
    else waits.set(what, { why, since: waits.get(what)?.since ?? now })
    screen.show([...waits].map(([name, w]) => `waiting for ${name}: ${w.why} (${formatAge(now - w.since)})`))
  }
}
