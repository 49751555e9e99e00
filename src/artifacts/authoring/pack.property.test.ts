// Agents unpack the result of `artifact pack` to the same tree; it refuses what agents would refuse, and follows no link.
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ARCHIVE_LIMITS, readTar } from '../oci/component-tar.ts'
import { paxOf, tarOf } from '#test/doubles/node/tar.ts'
import { messageOf } from '#lib/errors.ts'
import { packFolder } from './pack.ts'
import { inFull } from '#test/support/tools/full.ts'

const RUNS = inFull(1_000, 150)

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-pack-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Text of files by their path; folders have none and end in a slash. */
type Tree = Readonly<Record<string, string>>

function plant(root: string, tree: Tree): void {
  mkdirSync(root, { recursive: true })
  for (const [path, text] of Object.entries(tree)) {
    if (path.endsWith('/')) mkdirSync(join(root, path), { recursive: true })
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
  }
}

/** As the agent reads it, including implied folders. */
async function unpacked(bytes: Buffer): Promise<Tree> {
  const tree: Record<string, string> = {}
  const withFolders = (path: string) => {
    const parts = path.split('/')
    for (let n = 1; n <= parts.length; n++) tree[`${parts.slice(0, n).join('/')}/`] = ''
  }
  const folder = async (path: string) => withFolders(path)
  async function* chunks() {
    yield bytes
  }
  await readTar(chunks(), ARCHIVE_LIMITS, {
    folder,
    file: async (path) => {
      if (path.includes('/')) withFolders(dirname(path))
      tree[path] = ''
      return { write: async (chunk) => void (tree[path] += chunk.toString('latin1')), end: async () => undefined }
    },
  })
  return tree
}

function onDisk(root: string, below = ''): Record<string, string> {
  const tree: Record<string, string> = {}
  for (const e of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === '' ? e.name : `${below}/${e.name}`
    if (e.isDirectory()) Object.assign(tree, { [`${path}/`]: '' }, onDisk(root, path))
    else tree[path] = readFileSync(join(root, path), 'latin1')
  }
  return tree
}

const refusal = (folder: string): Promise<string> => packFolder(folder, join(dir, 'a.tar')).then(() => '', messageOf)

/** The same tree in a handmade tar: the agent's verdict on the names alone. */
async function agentRefuses(tree: Tree): Promise<boolean> {
  const entries = Object.entries(tree).flatMap(([path, content]) => [
    paxOf(`path=${path.replace(/\/$/, '')}`),
    { name: 'x', content, type: path.endsWith('/') ? '5' : '0' },
  ])
  return unpacked(tarOf(entries)).then(
    () => false,
    () => true,
  )
}

const name = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('a', 'A', 'b', 'bin', 'README', 'readme', 'é', 'e\u0301', '@a', '-', 'ß') },
  { weight: 2, arbitrary: fc.constantFrom('a\\b', 'a\nb', 'a\u202eb', '...', ' ', 'C:x', '\u007f', '😀', '%2e', 'a ') },
  fc.integer({ min: 90, max: 255 }).map((n) => 'n'.repeat(n)),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
)
const isName = (n: string) =>
  !/[/\0]/.test(n) && n !== '.' && n !== '..' && Buffer.byteLength(n) <= 255 && n.isWellFormed()
const trees = fc
  .array(fc.tuple(fc.array(name.filter(isName), { minLength: 1, maxLength: 4 }), fc.string({ maxLength: 1_200 })), {
    minLength: 1,
    maxLength: 5,
  })
  .map((files) => Object.fromEntries(files.map(([parts, text]) => [parts.join('/'), text])))
  // No file is also a folder.
  .filter((tree) => Object.keys(tree).every((a) => !Object.keys(tree).some((b) => b.startsWith(`${a}/`))))

test('S9 whatever it packs, agents unpack to the same tree; whatever agents refuse, it refuses', async () => {
  const counts = { packed: 0, refused: 0 }
  let n = 0
  await fc.assert(
    fc.asyncProperty(trees, async (tree) => {
      const root = join(dir, `t${++n}`)
      plant(root, tree)
      const there = onDisk(root)
      const said = await refusal(root)
      if (said === '') {
        counts.packed++
        expect(await unpacked(readFileSync(join(dir, 'a.tar')))).toEqual(there)
      } else {
        counts.refused++
        expect(said).toMatch(/^KN1101: /)
        expect(await agentRefuses(there)).toBe(true)
      }
      rmSync(root, { recursive: true })
    }),
    { numRuns: RUNS },
  )
  // Both outcomes occurred.
  expect(Math.min(counts.packed, counts.refused)).toBeGreaterThan(RUNS / 20)
}, 120_000)

const program = { 'bin/beacon': 'x', README: 'y' }

describe('S9 artifact pack refuses what agents refuse', () => {
  const cases: readonly (readonly [what: string, change: (root: string) => void, says: RegExp])[] = [
    ['a link to a file', (root) => symlinkSync('README', join(root, 'link')), /^KN1101: .*link/],
    ['a link to a folder', (root) => symlinkSync('bin', join(root, 'link')), /^KN1101: .*link/],
    ['a link to nothing', (root) => symlinkSync('/nope', join(root, 'link')), /^KN1101: .*link/],
    ['a pipe', (root) => void execFileSync('mkfifo', [join(root, 'pipe')]), /^KN1101: .*pipe/],
    ['a set-user-id program', (root) => chmodSync(join(root, 'bin/beacon'), 0o4755), /^KN1101: .*set-id/],
    ['a back slash', (root) => writeFileSync(join(root, 'a\\b'), ''), /^KN1101: .*no plain relative path/],
    ['a line end', (root) => writeFileSync(join(root, 'a\nb'), ''), /^KN1101: .*no plain relative path/],
    ['names that differ in case only', (root) => writeFileSync(join(root, 'readme'), ''), /^KN1101: .*case only/],
    ['a name that is not UTF-8', (root) => writeFileSync(notUtf8(root), ''), /^KN1101: .*not UTF-8/],
    ['a path of 40 folders', (root) => plant(root, { [`${'d/'.repeat(40)}f`]: '' }), /^KN1101: .*too deep/],
  ]
  test.each(cases)('%s', async (_what, change, says) => {
    const root = join(dir, 'src')
    plant(root, program)
    change(root)
    expect(await refusal(root)).toMatch(says)
    expect(readdirSync(dir)).toEqual(['src'])
  })

  test.each(['', '/', '/.'])('the folder itself is a link, written with %j at its end', async (end) => {
    plant(join(dir, 'src'), program)
    symlinkSync('src', join(dir, 'link'))
    expect(await refusal(`${join(dir, 'link')}${end}`)).toMatch(/^KN1101: .*link/)
  })
})

test('content that looks like a header is packed as it is', async () => {
  const header = tarOf([{ name: 'n'.repeat(100), prefix: '.', content: '' }], { end: false })
  mkdirSync(join(dir, 'src'))
  writeFileSync(join(dir, 'src/header'), header)
  writeFileSync(join(dir, 'src/headers'), Buffer.concat([header, header]))
  expect(await refusal(join(dir, 'src'))).toBe('')
  const tree = await unpacked(readFileSync(join(dir, 'a.tar')))
  expect(tree).toEqual(onDisk(join(dir, 'src')))
})

test('names of more than 100 bytes come out whole, in all lengths and alphabets, and the bytes are the same each time', async () => {
  const parts = ['a', 'é', '😀'].flatMap((c) =>
    [99, 100, 101, 155, 156, 200, 255].map((n) => c.repeat(Math.floor(n / Buffer.byteLength(c)))),
  )
  const tree = Object.fromEntries([
    ...parts.map((name, n) => [name, `${n}`] as const),
    [`${'deep-folder/'.repeat(20)}${'n'.repeat(120)}`, 'deep'],
    [`${'f'.repeat(200)}/${'g'.repeat(200)}`, 'both'],
  ]) as Tree
  plant(join(dir, 'src'), tree)
  expect(await refusal(join(dir, 'src'))).toBe('')
  const first = readFileSync(join(dir, 'a.tar'))
  expect(await unpacked(first)).toEqual(onDisk(join(dir, 'src')))
  // Other readers agree.
  mkdirSync(join(dir, 'gnu'))
  execFileSync('tar', ['-xf', join(dir, 'a.tar'), '-C', join(dir, 'gnu')])
  expect(onDisk(join(dir, 'gnu'))).toEqual(onDisk(join(dir, 'src')))
  expect(await refusal(join(dir, 'src'))).toBe('')
  expect(readFileSync(join(dir, 'a.tar')).equals(first)).toBe(true)
})

test('the digest of a folder stays the same from release to release', async () => {
  const digest = '75850d79e8028a014efdd782f0d62bbcfdf7e3513466de00bae912252e7bf047'
  plant(join(dir, 'src'), {
    ...program,
    [`${'f'.repeat(200)}/x`]: 'long',
    ['n'.repeat(100)]: 'full',
    'é/😀': '',
    'empty/': '',
  })
  chmodSync(join(dir, 'src/bin/beacon'), 0o755)
  expect((await packFolder(join(dir, 'src'), join(dir, 'a.tar'))).sha256).toBe(digest)
})

const notUtf8 = (root: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff])])

test('S9 a link in the place of the unfinished archive is not written through', async () => {
  plant(join(dir, 'src'), program)
  writeFileSync(join(dir, 'precious'), 'precious')
  symlinkSync(join(dir, 'precious'), join(dir, 'a.tar.partial'))
  expect(await refusal(join(dir, 'src'))).toBe('')
  expect(readFileSync(join(dir, 'precious'), 'utf8')).toBe('precious')
})

test('two names of one file are two files', async () => {
  plant(join(dir, 'src'), program)
  linkSync(join(dir, 'src/bin/beacon'), join(dir, 'src/bin/beacon2'))
  expect(await refusal(join(dir, 'src'))).toBe('')
  expect(await unpacked(readFileSync(join(dir, 'a.tar')))).toMatchObject({ 'bin/beacon': 'x', 'bin/beacon2': 'x' })
})

test('a name that begins with @ is a name, and not an archive to include', async () => {
  plant(join(dir, 'src'), { '@x': 'text', b: '' })
  expect(await refusal(join(dir, 'src'))).toBe('')
  expect(await unpacked(readFileSync(join(dir, 'a.tar')))).toEqual({ '@x': 'text', b: '' })
})
