// The demo's repository passes its own check.sh, as its README and a new fleet promise.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { provideDemo } from '#programs/local/repository.ts'

const ROOT = resolve(import.meta.dirname, '../..')

test('lint, rules and scenarios of the demo pass', { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-demo-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const target = join(folder, 'repository')
  await provideDemo(ROOT, target, Date.parse('2026-01-31T12:00:00Z'))
  const { stdout } = await promisify(execFile)('./check.sh', { cwd: target })
  expect(stdout).toMatch(/bad-version: .*\n.*\n +✔ 3 of 3 expectations hold/)
})
