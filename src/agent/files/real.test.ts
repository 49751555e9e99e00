// What the agent reads if it expects a file but finds something else: nothing that waits for a writer, and nothing endless.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realFiles } from './real.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-files-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['a named pipe', (at: string) => void execFileSync('mkfifo', [at])],
  ['a folder', (at: string) => mkdirSync(at)],
  ['a link to a device without an end', (at: string) => symlinkSync('/dev/zero', at)],
  ['a masked unit', (at: string) => symlinkSync('/dev/null', at)],
])('%s reads as empty', async (_name, make) => {
  make(join(folder, 'x'))
  expect((await realFiles.read(join(folder, 'x')))?.length).toBe(0)
})

test('a file reads as what it is, also through a link; what is not there reads as absent', async () => {
  writeFileSync(join(folder, 'x'), 'text')
  symlinkSync('x', join(folder, 'link'))
  symlinkSync('nowhere', join(folder, 'dangling'))
  const read = async (name: string) => (await realFiles.read(join(folder, name)))?.toString()
  expect(await Promise.all(['x', 'link', 'dangling', 'x/below'].map(read))).toEqual([
    'text',
    'text',
    undefined,
    undefined,
  ])
})
