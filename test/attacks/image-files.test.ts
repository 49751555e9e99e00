// The attacker hands an operator a file with an image: it fills neither disk nor memory, and nothing is written or read outside of the folder that it is unpacked to.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { withLayout } from '#artifacts/oci/layout-file.ts'
import { ROOT } from '../repo/source-files.ts'
import { MIB } from '#lib/bytes.ts'

const root = mkdtempSync(join(tmpdir(), 'kubenode-image-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const NAME = 'a'.repeat(64)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(root, 'layout-'))
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  writeFileSync(join(folder, 'index.json'), '{"schemaVersion":2,"manifests":[]}')
})

let files = 0
const packed = (how: string, ...names: readonly string[]): string => {
  const file = join(root, `${++files}.tar`)
  execFileSync('tar', [how, file, '-C', folder, ...names])
  return file
}
const sparse = (name: string, mib: number) => {
  writeFileSync(join(folder, name), '')
  truncateSync(join(folder, name), mib * MIB)
}
const opened = (file: string) => withLayout(file, async ({ manifests, folder: there }) => ({ manifests, there }))
const ALL = ['oci-layout', 'index.json', 'blobs'] as const

test('S9 a whole image is opened, and its folder is gone afterwards', async () => {
  const { manifests, there } = await opened(packed('-cf', ...ALL))
  expect(manifests).toEqual([])
  expect(() => readdirSync(there)).toThrow('ENOENT')
})

test('S29 a compressed file of almost nothing is refused before it fills the disk', async () => {
  // Two hundred to one: the reader of archives itself stops at a thousand.
  const noise = (i: number): Buffer => createHash('shake256', { outputLength: 256 }).update(String(i)).digest()
  const block = (i: number): Buffer => Buffer.concat([noise(i), Buffer.alloc(64 * 1024 - 256)])
  writeFileSync(join(folder, 'blobs/sha256', NAME), Buffer.concat(Array.from({ length: 640 }, (_, i) => block(i))))
  await expect(opened(packed('-czf', ...ALL))).rejects.toThrow(/KN13010.*unpacks to more than 8 times/)
})

test.each(['index.json', 'oci-layout'])(
  'S29 a layout whose %s is larger than any list of images is refused unread',
  async (name) => {
    sparse(name, 64)
    await expect(opened(packed('-cf', ...ALL))).rejects.toThrow(/KN13010.*is too large/)
    await expect(opened(folder)).rejects.toThrow(/KN13010.*is too large/)
  },
)

test('S9 links in place of the files of a layout are not followed', async () => {
  rmSync(join(folder, 'index.json'))
  symlinkSync(join(ROOT, 'package.json'), join(folder, 'index.json'))
  await expect(opened(packed('-cf', ...ALL))).rejects.toThrow(/KN13010.*no file index.json/)
  const outside = mkdtempSync(join(root, 'outside-'))
  rmSync(join(folder, 'blobs'), { recursive: true })
  symlinkSync(outside, join(folder, 'blobs'))
  const file = packed('-cf', 'oci-layout', 'blobs')
  rmSync(join(folder, 'blobs'))
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  writeFileSync(join(folder, 'blobs/sha256', NAME), 'x')
  execFileSync('tar', ['-rf', file, '-C', folder, `blobs/sha256/${NAME}`])
  await opened(file).catch(() => undefined)
  expect(readdirSync(outside)).toEqual([])
})
