// Git objects that are small on disk and huge inside: refused with the object's name, at the cost of what they declare within bounds.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { systemClock } from '#lib/system-clock.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { Renders } from '#sync/hub/renders.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import {
  bombOf,
  commitNaming,
  growingDelta,
  putLoose,
  putObject,
  putPack,
  varint,
  type PackedEntry,
} from '#test/support/faults/hostile-objects.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'

const MB = 1024 * 1024
/** Half a megabyte on disk. */
const BOMB = 512 * MB
/** Node with our code takes some 120 MB. */
const MAX_RSS_KB = 300 * 1024
const oid = (n: number): string => n.toString(16).padStart(40, 'b')
const OID = oid(1)

let repository: GitFolder
const gitDir = () => join(repository.dir, '.git')
let zeros: Buffer
let lyingBlob: Buffer
let honestBlob: Buffer
beforeAll(async () => {
  zeros = await bombOf('', BOMB)
  lyingBlob = await bombOf('blob 10\0', BOMB)
  honestBlob = await bombOf(`blob ${BOMB}\0`, BOMB)
})
beforeEach(() => {
  repository = new GitFolder()
})
afterEach(() => repository.remove())
afterAll(() => {
  zeros = lyingBlob = honestBlob = Buffer.alloc(0)
})

interface Read {
  readonly code: string
  readonly message: string
  readonly maxRssKb: number
}

/** In a process of its own, so that its memory can be measured. */
function readInChild(commit: string): Read {
  const code = `import { readFileSync } from 'node:fs'
import { openLocalRepository } from ${JSON.stringify(join(import.meta.dirname, '../../src/sync/git/local-repository.ts'))}
const [dir, commit] = process.argv.slice(1)
const told = await openLocalRepository(dir).readTree(commit, ['fleet']).then((m) => ({ code: 'read', message: String(m.size) }), (e) => ({ code: e.code, message: e.message }))
// Of this program alone: what getrusage counts begins with the memory of the process that started it.
const [, peak] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
console.log(JSON.stringify({ ...told, maxRssKb: Number(peak) }))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code, repository.dir, commit], {
    encoding: 'utf8',
    cwd: join(import.meta.dirname, '../..'),
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Read
}

const pack = (...entries: readonly PackedEntry[]) => putPack(gitDir(), 'a', entries)
const blob = (content: Buffer, id: string): PackedEntry => ({
  oid: id,
  type: 3,
  size: content.length,
  deflated: deflateSync(content),
})
const delta = (content: Buffer, id: string, base: string): PackedEntry => ({
  oid: id,
  type: 7,
  base,
  size: content.length,
  deflated: deflateSync(content),
})

const KIB64 = 0x10000

const BOMBS: readonly (readonly [string, () => string | void, string])[] = [
  ['a loose object that declares its size', () => putLoose(gitDir(), OID, honestBlob), 'KN7114'],
  ['a loose object that lies about its size', () => putLoose(gitDir(), OID, lyingBlob), 'KN7015'],
  ['a loose object whose header never ends', () => putLoose(gitDir(), OID, zeros), 'KN7015'],
  ['a packed object that declares its size', () => pack({ oid: OID, type: 3, size: BOMB, deflated: zeros }), 'KN7114'],
  ['a packed object that lies about its size', () => pack({ oid: OID, type: 3, size: 10, deflated: zeros }), 'KN7015'],
  [
    'a delta that lies about its size',
    () => pack(blob(Buffer.alloc(KIB64), oid(2)), { oid: OID, type: 7, base: oid(2), size: 10, deflated: zeros }),
    'KN7015',
  ],
  [
    'a delta whose result is huge',
    () => pack(blob(Buffer.alloc(KIB64), oid(2)), delta(growingDelta(KIB64, BOMB / KIB64), OID, oid(2))),
    'KN7114',
  ],
  [
    'a chain of deltas whose middle is huge',
    () =>
      pack(
        blob(Buffer.alloc(KIB64), oid(2)),
        delta(growingDelta(KIB64, BOMB / KIB64), oid(3), oid(2)),
        delta(growingDelta(BOMB, 1), OID, oid(3)),
      ),
    'KN7114',
  ],
  [
    'a chain of deltas that is huge in all',
    () => {
      const step = 32 * MB
      const links = Array.from({ length: 40 }, (_, i) =>
        delta(growingDelta(i === 0 ? KIB64 : step, i === 39 ? 1 : step / KIB64), oid(i === 39 ? 1 : i + 3), oid(i + 2)),
      )
      pack(blob(Buffer.alloc(KIB64), oid(2)), ...links)
    },
    'KN7114',
  ],
  [
    'a delta of millions of instructions',
    () => {
      const copies = Buffer.alloc(34 * MB, Buffer.from([0x90, 1]))
      pack(
        blob(Buffer.alloc(KIB64), oid(2)),
        delta(Buffer.concat([varint(KIB64), varint(copies.length / 2), copies]), oid(3), oid(2)),
        delta(Buffer.concat([varint(copies.length / 2), varint(1), Buffer.from([0x90, 1])]), OID, oid(3)),
      )
    },
    'KN7114',
  ],
  ['a delta of itself', () => pack(delta(growingDelta(KIB64, 1), OID, OID)), 'KN7015'],
  ['a delta of nothing', () => pack(delta(growingDelta(KIB64, 1), OID, oid(9))), 'KN7015'],
  ['an object with the content of another', () => putLoose(gitDir(), OID, deflateSync('blob 1\0x')), 'KN7015'],
]

test.each(BOMBS)('S29 %s costs bounded memory and one error', (_, put, code) => {
  const commit = commitNaming(gitDir(), OID)
  put()
  const read = readInChild(commit)
  expect(read).toMatchObject({ code, message: expect.stringContaining(OID) as string })
  expect(read.maxRssKb).toBeLessThan(MAX_RSS_KB)
})

test('S29 a commit and a folder that are bombs are refused like files', async () => {
  putLoose(gitDir(), OID, await bombOf(`tree ${BOMB}\0`, BOMB))
  const tree = readInChild(commitNaming(gitDir(), OID, OID))
  expect(tree).toMatchObject({ code: 'KN7114', message: expect.stringContaining(OID) as string })
  putLoose(gitDir(), oid(2), await bombOf('commit 200\0', BOMB))
  const commit = readInChild(oid(2))
  expect(commit).toMatchObject({ code: 'KN7015', message: expect.stringContaining(oid(2)) as string })
  expect(Math.max(tree.maxRssKb, commit.maxRssKb)).toBeLessThan(MAX_RSS_KB)
})

const treeOf = (entries: Readonly<Record<string, string>>): string =>
  putObject(
    gitDir(),
    'tree',
    Buffer.concat(
      Object.entries(entries).flatMap(([name, id]) => [Buffer.from(`40000 ${name}\0`), Buffer.from(id, 'hex')]),
    ),
  )

/** Ten levels, each with the next one ten times: ten thousand million paths in eleven objects. */
function treeBomb(leaf: string, levels = 10): string {
  let tree = leaf
  for (let level = 0; level < levels; level++)
    tree = treeOf(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`d${i}`, tree])))
  return tree
}

test('S29 folders that hold each other ten times over end with the distinct ones', async () => {
  const read = (fleet: string, limits = {}) =>
    openLocalRepository(repository.dir).readTree(commitNaming(gitDir(), '', fleet), ['fleet'], limits)
  const empty = putObject(gitDir(), 'tree', Buffer.alloc(0))
  expect((await read(treeBomb(empty))).size).toBe(0)
  const blob = putObject(gitDir(), 'blob', Buffer.from('x'))
  const file = putObject(gitDir(), 'tree', Buffer.concat([Buffer.from('100644 a.ts\0'), Buffer.from(blob, 'hex')]))
  await expect(read(treeBomb(file))).rejects.toMatchObject({ code: 'KN7114' })
  let distinct = empty
  for (let i = 0; i < 20; i++) distinct = treeOf({ [`a${i}`]: distinct, [`b${i}`]: empty })
  expect((await read(distinct, { maxEntries: 41 })).size).toBe(0)
  await expect(read(distinct, { maxEntries: 40 })).rejects.toMatchObject({
    code: 'KN7114',
    message: expect.stringContaining('limit of 40 files and folders') as string,
  })
})

test('S29 a commit whose files are refused is not read again with each poll', async () => {
  const localRepositories = [{ folder: repository.dir }]
  const config = { cacheDir: join(repository.dir, '.git/cache'), weakCage: 'allow' as const, localRepositories }
  const renders = new Renders(config, systemClock)
  const source = { metadata: {}, spec: { url: repository.dir, path: '.', ref: { branch: 'main' } } } as FleetSource
  const commit = commitNaming(gitDir(), '', treeBomb(treeOf({}), 40))
  repository.git('update-ref', 'refs/heads/main', commit)
  const failure = () => renders.render(source, commit).then(undefined, (e: unknown) => e)
  const first = await failure()
  expect(first).toMatchObject({ code: 'KN7114' })
  expect(await failure()).toBe(first)
})

test('S29 a bomb that the git program fetches is refused by the reader, or by the fetch', async () => {
  const inner = Buffer.alloc(64 * MB)
  const commit = commitNaming(gitDir(), putObject(gitDir(), 'blob', inner))
  repository.git('update-ref', 'refs/heads/main', commit)
  const options = { cacheDir: join(repository.dir, '.git/mirror'), env: { PATH: process.env['PATH'] ?? '' } }
  const copy = await fetchMirror(`file://${repository.dir}`, { branch: 'main' }, options)
  await expect(copy.readTree(commit, ['fleet'])).rejects.toMatchObject({ code: 'KN7114' })
})

test('objects that git packs with deltas are read as they are', async () => {
  const text = Array.from({ length: 3_000 }, (_, i) => `line ${i}`)
  const commits = Array.from({ length: 12 }, (_, i) =>
    repository.commit({ 'fleet/main.ts': text.with(i * 100, `changed ${i}`).join('\n') }),
  )
  repository.git('gc', '--quiet', '--aggressive', '--prune=now')
  expect(repository.git('count-objects')).toMatch(/^0 objects/)
  for (const [i, commit] of commits.entries()) {
    const files = await openLocalRepository(repository.dir).readTree(commit, ['fleet'])
    expect(Buffer.from(files.get('fleet/main.ts') ?? []).toString()).toBe(text.with(i * 100, `changed ${i}`).join('\n'))
  }
})
