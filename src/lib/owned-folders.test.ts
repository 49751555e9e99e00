import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeOwnedFolder, sweepOwnedFolders } from './owned-folders.ts'

const HOUR = 3_600_000
let parent: string
beforeEach(() => void (parent = mkdtempSync(join(tmpdir(), 'kubenode-owned-'))))
afterEach(() => rmSync(parent, { recursive: true, force: true }))

const folders = () => ({ parent, prefix: 'work-', maxAgeMs: HOUR })
const aged = (path: string, ms: number): string => {
  const at = new Date(Date.now() - ms)
  utimesSync(path, at, at)
  return path
}

test('a folder of a process that was killed is removed at the next start, and one of a process that lives is not', async () => {
  const module = join(import.meta.dirname, 'owned-folders.ts')
  const code = `import { makeOwnedFolder } from ${JSON.stringify(module)}
console.log(makeOwnedFolder(${JSON.stringify({ parent, prefix: 'work-' })}))
setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const theirs = line.toString().trim()
  const ours = makeOwnedFolder(folders())
  expect(sweepOwnedFolders(folders())).toEqual([])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(sweepOwnedFolders(folders())).toEqual([theirs])
  expect([existsSync(theirs), existsSync(ours)]).toEqual([false, true])
})

test('a pid that another process has now does not keep the folder', () => {
  const [, pid = ''] = basename(makeOwnedFolder(folders())).slice('work-'.length).split('-')
  const name = basename(readdirSync(parent)[0] ?? '').replace(/-[0-9]+-[^-]+$/, '-1-abcdef')
  expect(pid).toBe(String(process.pid))
  mkdirSync(join(parent, name))
  expect(sweepOwnedFolders(folders())).toEqual([join(parent, name)])
})

test('where the owner cannot be looked up, only age decides', () => {
  const [young, old] = ['work-elsewhere.1-7-9-aaaaaa', 'work-elsewhere.1-7-9-bbbbbb'].map((n) => join(parent, n))
  for (const path of [young, old]) mkdirSync(path as string)
  aged(old as string, 2 * HOUR)
  expect(sweepOwnedFolders(folders())).toEqual([old])
})

test('what has another name, is a file or a link is left alone', () => {
  const other = join(parent, 'other')
  mkdirSync(other)
  symlinkSync(other, join(parent, 'work-elsewhere.1-7-9-cccccc'))
  aged(other, 2 * HOUR)
  expect(sweepOwnedFolders(folders(), Date.now() + 24 * HOUR)).toEqual([])
  expect(readdirSync(parent).length).toBe(2)
  expect(sweepOwnedFolders({ ...folders(), parent: join(parent, 'absent') })).toEqual([])
})
