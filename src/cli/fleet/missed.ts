// For commands on several named objects: shows those that exist, then reports each missing one.
import { messageOf } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'

/** The found objects, in the order of their names. */
export async function eachOf<T>(answers: readonly Promise<T>[], missed: unknown[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(answers)
  missed.push(...settled.flatMap((s) => (s.status === 'rejected' ? [s.reason as unknown] : [])))
  return settled.flatMap((s) => (s.status === 'fulfilled' ? [s.value] : []))
}

/** As kubectl does: in order, and the command fails. An unavailable server is reported once, not per name. */
export function reportMissed(missed: readonly unknown[], io: Io): void {
  const last = missed.at(-1)
  const others = missed.slice(0, -1).map(messageOf)
  for (const text of new Set(others)) if (text !== messageOf(last)) showProblem(io, shownLine(text))
  if (last !== undefined) throw last
}
