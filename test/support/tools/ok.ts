// `npm run ok`: every quick check before a commit, all of them even when one fails; `--full` adds the slow test layers, `--still` leaves out all tests.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const full = process.argv.includes('--full')
const isStill = process.argv.includes('--still')
const bin = 'node_modules/.bin'

/** Each checker of the compiler works out shared types again: more of them than cores cost time, and more than four memory. */
const checkers = String(Math.min(availableParallelism(), 4))

const checks: readonly (readonly [string, readonly string[]])[] = [
  ['types', [`${bin}/tsc`, '-p', '.', '--checkers', checkers]],
  ['types of the page', [`${bin}/tsc`, '-p', 'src/console/page', '--noEmit']],
  ['lint', [`${bin}/oxlint`]],
  ['format', [`${bin}/oxfmt`, '--check']],
  ['unused', [`${bin}/knip`]],
  full
    ? ['tests', [`${bin}/vitest`, 'run']]
    : ['tests', [`${bin}/vitest`, 'run', '--project', 'unit', '--project', 'repo']],
]

const env = {
  ...process.env,
  ...(full ? { KUBENODE_TEST_FULL: '1' } : {}),
  UV_THREADPOOL_SIZE: String(availableParallelism()),
}
const failed: string[] = []
for (const [name, [command = '', ...args]] of checks.filter(([name]) => !isStill || name !== 'tests')) {
  const began = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit', env })
  const ok = status === 0
  if (!ok) failed.push(name)
  console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name}  ${((performance.now() - began) / 1000).toFixed(1)} s`)
}
if (failed.length > 0) console.error(`not ok: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
