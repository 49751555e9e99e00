// How much is tried: a part on every change, all of it before a release (`npm run ok:full`). Files called `*.full.test.ts` are left out of the part.
export const isFull = process.env['KUBENODE_TEST_FULL'] === '1'

export const inFull = (full: number, quick: number): number => (isFull ? full : quick)

export const ONLY_IN_FULL = 'it takes minutes: npm run ok:full, or KUBENODE_TEST_FULL=1'
