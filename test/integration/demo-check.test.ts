// The demo's repository passes its own check.sh, and a mistake in one of its rules is refused where the rule would be judged.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { provideDemo } from '#programs/local/repository.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
let folder = ''
let demo = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-demo-check-'))
  demo = join(folder, 'repository')
  await provideDemo(ROOT, demo, Date.parse('2026-01-31T12:00:00Z'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('lint, rules and scenarios of the demo pass', async () => {
  const { stdout } = await run('./check.sh', { cwd: demo })
  expect(stdout).toMatch(/bad-version: .*\n.*\n +✔ 3 of 3 expectations hold/)
})

test('a rule that cannot be evaluated is not judged as one that never fires', async () => {
  const file = join(demo, 'rules/kernel/kernel-deadlock.ts')
  writeFileSync(file, readFileSync(file, 'utf8').replace("operator: 'equal'", "operator: 'equals'"))
  const history = join(ROOT, 'rules/history/repairs.jsonl.gz')
  const args = ['rules', 'backtest', '--dirty', '--history', history, '--fleet-cluster', 'test']
  await expect(run(join(ROOT, 'bin/kubenode'), args, { cwd: demo })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /KN1346: cannot judge the rules of the work tree on .*NodeRemedier kernel-deadlock: .*"equals"; did you mean equal\?/s,
    ) as unknown,
  })
})
