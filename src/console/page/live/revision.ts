// Compares revisions of the server: `<start of the server>-<number>`, comparable only within one start. Pure.
import type { Revision } from '../../protocol.ts'

const parts = (revision: Revision): readonly [start: string, number: number] => {
  const dash = revision.lastIndexOf('-')
  return [revision.slice(0, dash), Number(revision.slice(dash + 1))]
}

/** False when they cannot be compared: then the change is applied, never skipped. */
export function isKnown(has: Revision, next: Revision): boolean {
  const [start, number] = parts(has)
  const [nextStart, nextNumber] = parts(next)
  return start === nextStart && nextNumber <= number
}

/** The lowest of them; undefined when they come from several starts of the server. */
export function lowest(revisions: readonly Revision[]): Revision | undefined {
  const [first] = revisions
  if (first === undefined || revisions.some((r) => parts(r)[0] !== parts(first)[0])) return undefined
  return revisions.reduce((a, b) => (parts(b)[1] < parts(a)[1] ? b : a))
}
