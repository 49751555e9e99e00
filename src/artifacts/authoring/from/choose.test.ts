import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tarOf } from '#test/doubles/node/tar.ts'
import { chosenFrom, type ComponentChoices } from './choose.ts'
import { tarSource } from './tar-source.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-choose-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

async function chosen(mode: number, path = 'bin/lamp') {
  const file = join(dir, 'lamp-1.0.0.tar')
  writeFileSync(file, tarOf([{ name: path, content: '#!/bin/sh\n', mode }]))
  const choices = { takes: [], files: [], leaves: [], exec: ['/usr/local/bin/lamp'] } as unknown as ComponentChoices
  return chosenFrom(await tarSource(file), choices)
}

test('a program that was packed without its permission is named, with what to do', async () => {
  expect(await chosen(0o644)).toEqual({
    ok: false,
    problem: 'bin/lamp in it is not executable; run chmod 755 on it and pack it again',
  })
  expect((await chosen(0o755)).ok).toBe(true)
  expect(await chosen(0o644, 'share/notes.txt')).toMatchObject({ problem: expect.stringMatching(/^it has no program/) })
})
