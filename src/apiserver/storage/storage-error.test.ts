import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFailure } from './storage-error.ts'

const ofSystem = (code: string): Error =>
  Object.assign(new Error(`${code}: no luck, copyfile 'a' -> 'b'`), { code, syscall: 'copyfile' })

test.each(['ENOSPC', 'EDQUOT'])('F27 a file system without space (%s) is a full disk, and no damage', (code) => {
  expect(openFailure('/data', ofSystem(code)).message).toMatch(/^KN6106: .*the disk is full/)
})

test('F27 what the file system refuses otherwise is no damage either', () => {
  expect(openFailure('/data', ofSystem('EACCES')).message).toMatch(/^KN6116: .*permission denied/)
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-storage-error-'))
  try {
    copyFileSync(join(folder, 'none'), join(folder, 'copy'))
    expect.unreachable()
  } catch (e) {
    expect(openFailure(folder, e).message).toMatch(/^KN6116: .*there is no such file/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('F27 what is in the file that cannot be understood is damage', () => {
  expect(openFailure('/data', new Error('no table')).message).toMatch(/^KN6102: /)
})
