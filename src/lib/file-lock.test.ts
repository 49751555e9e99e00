import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeFileLock } from './file-lock.ts'

let folder: string
let file: string
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-lock-'))
  file = join(folder, 'lock')
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  rmSync(folder, { recursive: true, force: true })
})

/** Another process that reports whether it got the lock, and holds it until killed. */
async function holder(): Promise<{ readonly child: ChildProcess; readonly got: string }> {
  const code = `import { takeFileLock } from ${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))}
    globalThis.held = takeFileLock(${JSON.stringify(file)})
    process.stdout.write(globalThis.held === undefined ? 'refused' : 'held')
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, got: text.toString() }
}

test('S31 one holder at a time, in this process and among processes, and a kill frees it', async () => {
  const first = takeFileLock(file)
  expect(first).toBeDefined()
  expect(takeFileLock(file)).toBeUndefined()
  // asking again must not end the lock that this process holds
  expect((await holder()).got).toBe('refused')
  first?.release()
  const { child, got } = await holder()
  expect([got, takeFileLock(file)]).toEqual(['held', undefined])
  child.kill('SIGKILL')
  await once(child, 'exit')
  const again = takeFileLock(file)
  expect(again).toBeDefined()
  again?.release()
})

test('a lock that its process keeps no hold of is not ended by the garbage collector', async () => {
  const code = `import { takeFileLock } from ${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))}
    takeFileLock(${JSON.stringify(file)})
    setTimeout(() => {
      for (let n = 0; n < 5; n++) globalThis.gc()
      setTimeout(() => process.stdout.write('collected'), 50)
    }, 50)
    setInterval(() => undefined, 1000)`
  const args = ['--expose-gc', '--input-type=module', '-e', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(child.stdout, 'data')
  expect(takeFileLock(file)).toBeUndefined()
})

test('F43 it writes nothing, so that it can be taken on a full disk', () => {
  const held = takeFileLock(file)
  expect([readdirSync(folder), statSync(file).size]).toEqual([['lock'], 0])
  held?.release()
  expect([readdirSync(folder), statSync(file).size]).toEqual([['lock'], 0])
})

test('S31 no other user may open it, also when it was open to all', () => {
  writeFileSync(file, '')
  chmodSync(file, 0o666)
  takeFileLock(file)?.release()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test.each([
  ['a folder', () => mkdirSync(join(file, 'x'), { recursive: true })],
  ['a link', () => symlinkSync(join(folder, 'elsewhere'), file)],
])('%s in its place is replaced', (_, put) => {
  put()
  const lock = takeFileLock(file)
  expect([lock !== undefined, statSync(file).isFile()]).toEqual([true, true])
  lock?.release()
})
