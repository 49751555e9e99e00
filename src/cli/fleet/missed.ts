// Several objects that a user named: those that exist are shown, and each that is missing is reported after them.
import { messageOf } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'

/** What was found, in the order of the names. */
export async function eachOf<T>(answers: readonly Promise<T>[], missed: unknown[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(answers)
  missed.push(...settled.flatMap((s) => (s.status === 'rejected' ? [s.reason as unknown] : [])))
  return settled.flatMap((s) => (s.status === 'fulfilled' ? [s.value] : []))
}

/** As kubectl: in order, and the command fails. A server that is away is reported once and not for each name. */
export function reportMissed(missed: readonly unknown[], io: Io): void {
  const last = missed.at(-1)
  const others = missed.slice(0, -1).map(messageOf)
  for (const text of new Set(others)) if (text !== messageOf(last)) showProblem(io, shownLine(text))
  if (last !== undefined) throw last
}
