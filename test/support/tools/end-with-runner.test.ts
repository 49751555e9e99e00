// A process of tests does not outlive its runner.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const WORKER = `
await import(process.argv[2])
await import(process.argv[2] + '?again')
process.send(process.listenerCount('disconnect'))
setInterval(() => undefined, 1000)
`

test('a process of tests ends when its runner is no longer there, and waits for that once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-runner-'))
  const file = join(folder, 'worker.mjs')
  writeFileSync(file, WORKER)
  const child = fork(file, [join(import.meta.dirname, 'end-with-runner.ts')])
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  expect((await once(child, 'message'))[0]).toBe(1)
  const ended = once(child, 'exit')
  child.disconnect()
  expect((await ended)[1]).toBe('SIGKILL')
})
