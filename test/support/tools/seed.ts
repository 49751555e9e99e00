// Where the randomness of tests begins. On every change the same, so that a red run is the change's own; drawn anew in `npm run ok:full`, which looks for what
// nobody knows yet and prints the seed that found it.
import { isFull } from './full.ts'

const SEEDS = 2 ** 31
const EVERY_CHANGE = 20_261_122

export const testSeed = Number(
  process.env['KUBENODE_TEST_SEED'] ?? (isFull ? Math.floor(Math.random() * SEEDS) : EVERY_CHANGE),
)
