import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { applyWayBack } from './apply-way-back.ts'

/** More than a pipe holds: git exits before everything is written. */
const LARGE = 'x'.repeat(4 * 1024 * 1024)

test('git that refuses without reading the patch is an error with a number, not a broken pipe', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-way-back-'))
  const { PATH = '' } = process.env
  try {
    const env = { PATH, GIT_CEILING_DIRECTORIES: tmpdir() }
    await expect(applyWayBack({ kind: 'Patch', text: LARGE, like: '' }, folder, env)).rejects.toThrow(
      /^KN1385: cannot write the way back: git apply failed: /,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
