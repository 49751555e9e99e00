// Files of a folder run in one cage: one that exceeds a limit is named, though it ended the run of all of them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCage } from '#sync/render/cage.ts'
import { loadModules } from '#sync/render/load-modules.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-modules-'))
  mkdirSync(join(folder, 'fleet'))
  writeFileSync(join(folder, 'fleet/good.ts'), 'export const answer = 42')
  // Ends sooner than a loop that prints nothing.
  writeFileSync(join(folder, 'fleet/loop.ts'), `for (;;) console.log('again '.repeat(10_000))`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const load = async (...files: readonly string[]) =>
  loadModules(join(folder, 'fleet'), files, { cage: await findCage('allow'), shown: 'fleet' })

test.each([[['good.ts', 'loop.ts']], [['loop.ts']]])('of %j the endless one is named', async (files) => {
  await expect(load(...files)).rejects.toThrow(/cannot load fleet\/loop\.ts: /)
})

test('the others are loaded', async () => {
  expect(await load('good.ts')).toEqual(new Map([['good.ts', { exports: { answer: 42 } }]]))
})
