// A signal while the local fleet starts: it ends with the status of the signal, says no error, and leaves no process.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { processesWith, until } from '#test/support/tools/processes.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/kubenode')
const WITHIN_MS = 120_000

let data = ''
beforeEach(() => void (data = mkdtempSync(join(tmpdir(), 'kubenode-interrupted-'))))
afterEach(() => rmSync(data, { recursive: true, force: true }))

test.each([
  ['SIGINT', 'as soon as its folder is locked', 'lock', 130],
  ['SIGTERM', 'while the API servers start', 'hub/apiserver', 143],
  ['SIGINT', 'while kinds and roles are installed', 'test/apiserver/admin.kubeconfig', 130],
] as const)('%s %s', { timeout: WITHIN_MS }, async (signal, _, file, status) => {
  const child = spawn(PROGRAM, ['local', 'up', '--data', data, '--nodes', '1'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = new Promise<number | string | null>((done) => child.once('close', (code, by) => done(code ?? by)))
  await until(file, () => existsSync(join(data, file)) || undefined, WITHIN_MS)
  child.kill(signal)
  expect(await ended).toBe(status)
  expect(said).not.toMatch(/KN\d+|Error/)
  expect(processesWith(data)).toEqual([])
})
