// The watch on real folders.
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync, chmodSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { watchFolder } from './folder-watch.ts'

let folder: string
let heard: (string | undefined)[]
let watcher: { close(): void } | undefined

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'kubenode-watch-')), 'here')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a'), '1')
  heard = []
  watcher = watchFolder(folder, (name) => heard.push(name))
})
afterEach(() => {
  watcher?.close()
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

const path = (name: string): string => join(folder, name)
test.each([
  ['written', () => writeFileSync(path('a'), '22'), 'a'],
  ['made', () => writeFileSync(path('b'), ''), 'b'],
  ['removed', () => rmSync(path('a')), 'a'],
  ['given other rights', () => chmodSync(path('a'), 0o755), 'a'],
  [
    'renamed over',
    () => {
      symlinkSync('elsewhere', path('new'))
      renameSync(path('new'), path('a'))
    },
    'a',
  ],
  ['removed with its folder', () => rmSync(folder, { recursive: true }), undefined],
] as const)('a name that is %s is reported', async (_what, change, name) => {
  expect(watcher).toBeDefined()
  change()
  await expect.poll(() => heard).toContain(name)
})

test('a folder that does not exist reports nothing, and the caller learns it', () =>
  expect(watchFolder(path('nowhere'), () => undefined)).toBeUndefined())
