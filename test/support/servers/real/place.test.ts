// Programs of a real cluster end with the test that started them, however it ends.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { processesWith, until } from '#test/support/tools/processes.ts'

const WITHIN_MS = 120_000
/** A test that starts a program and waits. The program ignores SIGTERM, as one that drains its connections does. */
const STARTER = `
const { Programs, thisHost } = await import(process.argv[1])
const programs = new Programs(thisHost, process.argv[2])
programs.start('server', '/bin/sh', ['-c', 'trap "" TERM; while :; do sleep 1; done', process.argv[2]])
process.stdout.write(String(programs.pid('server')))
setInterval(() => undefined, 1000)
`

test.for(['SIGTERM', 'SIGKILL'] as const)(
  'a test that ends by %s leaves no program running',
  async (signal, context) => {
    if (!existsSync('/usr/bin/setpriv')) context.skip('setpriv (util-linux) is not installed here')
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-place-'))
    const words = ['--input-type=module', '--eval', STARTER, join(import.meta.dirname, 'place.ts'), folder]
    const starter = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => {
      starter.kill('SIGKILL')
      for (const { pid } of processesWith('trap', folder)) process.kill(pid, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    let said = ''
    starter.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const pid = await until('the program is started', () => (said === '' ? undefined : Number(said)), WITHIN_MS)
    const ours = () => processesWith('trap', folder).some((p) => p.pid === pid)
    await until('the program runs', () => ours() || undefined, WITHIN_MS)
    starter.kill(signal)
    await until('the program ended', () => !ours() || undefined, WITHIN_MS)
    expect(processesWith('trap', folder)).toEqual([])
  },
)
