// Shows what a command waits for, next to its data: one redrawn block on a terminal that is removed at the end, otherwise one line per change.
import { type PhaseProgress, phaseBar } from '#install/phase-bars.ts'
import type { Clock } from '#lib/clock.ts'
import { formatAge } from '#lib/duration.ts'
import { createScreen, type Screen } from '#lib/terminal/screen.ts'
import type { Io } from '#lib/terminal/io.ts'
import { linePainter } from '#lib/terminal/paint-line.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'

const USUAL_ROWS = 50

export function waitScreen(io: Io): Pick<Screen, 'isTerminal' | 'print' | 'show' | 'end'> {
  const isTerminal = io.errWidth?.() !== undefined
  const screen = createScreen((text) => io.err(text), {
    isTerminal,
    foldsLongLines: true,
    paint: linePainter(paintOf(hasColors({ ...io, isTerminal }))),
    size: () => ({ columns: io.errWidth?.() ?? 100, rows: process.stderr.rows || USUAL_ROWS }),
  })
  return {
    isTerminal,
    print: (line) => screen.print(line),
    show: (lines) => screen.show(lines),
    end() {
      screen.show([])
      screen.end()
    },
  }
}

export interface LiveBlock {
  readonly showWait: (what: string, why: string | undefined) => void
  readonly showPhases: (phases: readonly PhaseProgress[]) => void
}

/** Draws the current phase with a bar and, below it, each pending wait with its time. */
export function liveBlock(screen: Pick<Screen, 'show'>, clock: Pick<Clock, 'monotonic'>): LiveBlock {
  let bars: readonly string[] = []
  const waits = new Map<string, { readonly why: string; readonly since: number }>()
  const draw = (): void => {
    const now = clock.monotonic()
    const lines = [...waits].map(([name, w]) => `waiting for ${name}: ${w.why} (${formatAge(now - w.since)})`)
    screen.show([...bars, ...lines])
  }
  return {
    showWait(what, why) {
      if (why === undefined) waits.delete(what)
      else waits.set(what, { why, since: waits.get(what)?.since ?? clock.monotonic() })
      draw()
    },
    showPhases(phases) {
      const bar = phaseBar(phases)
      bars = bar === undefined ? [] : [bar]
      draw()
    },
  }
}
