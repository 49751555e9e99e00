// How much is tried: a part on every change, all of it before a release (`npm run ok:full`). Files called `*.full.test.ts` are left out of the part.
import type { TestContext } from 'vitest'

export const isFull = process.env['KUBENODE_TEST_FULL'] === '1'

export const inFull = (full: number, quick: number): number => (isFull ? full : quick)

/** All cases of a table, or in the quick run every `nth`: for tables whose cases differ in their data only. */
export const inFullAll = <T>(all: readonly T[], nth: number): readonly T[] =>
  isFull ? all : all.filter((_, i) => i % nth === 0)

export const ONLY_IN_FULL = 'it takes minutes: npm run ok:full, or KUBENODE_TEST_FULL=1'

/** The first line of a long test whose claim a cheaper one keeps in the quick run; the reason is printed. */
export const onlyInFull = ({ skip }: TestContext): void => {
  if (!isFull) skip(ONLY_IN_FULL)
}
