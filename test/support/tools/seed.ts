// The seed of every random input of the tests. On every change it is the same, so that a red run is the fault of the change; `npm run ok:full` draws a new one,
// to find defects that are not known yet, and a failing test prints it.
import { isFull } from './full.ts'

const SEEDS = 2 ** 31
const EVERY_CHANGE = 20_261_122

export const testSeed = Number(
  process.env['KUBENODE_TEST_SEED'] ?? (isFull ? Math.floor(Math.random() * SEEDS) : EVERY_CHANGE),
)
