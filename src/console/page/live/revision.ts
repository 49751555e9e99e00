// Compares server revisions, `<server start>-<number>`, comparable only within one start. Pure.
import type { Revision } from '../../protocol.ts'

const parts = (revision: Revision): readonly [start: string, number: number] => {
  const dash = revision.lastIndexOf('-')
  return [revision.slice(0, dash), Number(revision.slice(dash + 1))]
}

/** False if they cannot be compared: the change is then applied, never skipped. */
export function isKnown(has: Revision, next: Revision): boolean {
  const [start, number] = parts(has)
  const [nextStart, nextNumber] = parts(next)
  return start === nextStart && nextNumber <= number
}

/** The lowest one; undefined if they come from several server starts. */
export function lowest(revisions: readonly Revision[]): Revision | undefined {
  const [first] = revisions
  if (first === undefined || revisions.some((r) => parts(r)[0] !== parts(first)[0])) return undefined
  return revisions.reduce((a, b) => (parts(b)[1] < parts(a)[1] ? b : a))
}
