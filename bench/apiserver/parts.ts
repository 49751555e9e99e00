// Measures a server part by part, each within a bound. Reports a part that does not finish, and those that did not start because of it.
import type { Figures } from '../result.ts'

export interface Part {
  readonly what: string
  /** What was measured before is handed in. */
  readonly run: (before: Figures) => Promise<Figures>
}

/** Some ten times what the slowest part takes on two cores; of the first server that needs more nothing is known but that. */
const WITHIN_MS = 120_000

/** The server is unusable after a part that did not finish: the caller stops it. */
export async function inParts(
  name: string,
  parts: readonly Part[],
  withinMs = WITHIN_MS,
): Promise<{ readonly figures: Figures; readonly unfinished: readonly string[] }> {
  let figures: Figures = {}
  for (const [i, { what, run }] of parts.entries()) {
    const began = performance.now()
    const found = await withinBound(run(figures), withinMs)
    if (found === undefined) {
      const left = parts.slice(i).map((p) => p.what)
      console.error(`${name}: ${what} is not done after ${withinMs / 1_000} s; left out: ${left.join(', ')}`)
      return { figures, unfinished: left }
    }
    figures = { ...figures, ...found }
    console.error(`${name}: ${what}, ${((performance.now() - began) / 1_000).toFixed(1)} s`)
  }
  return { figures, unfinished: [] }
}

async function withinBound(work: Promise<Figures>, withinMs: number): Promise<Figures | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), withinMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
    // its connections are about to be cut
    work.catch(() => undefined)
  }
}
