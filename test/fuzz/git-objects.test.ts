// Git objects that git never wrote, loose, packed and as deltas: a reader gets bytes that match their hash, or a registered error; the folder is unchanged.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isKubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { Random } from '#lib/random.ts'
import { openLocalRepository, type LocalRepository } from '#sync/git/local-repository.ts'
import { nameProblem, parseTree } from '#sync/git/tree-entries.ts'
import { FUZZ_TIMEOUT_MS, mutatedBytes, runCampaign, strangeText } from '#test/support/fuzzing/fuzzing.ts'
import { hashOf, putLoose, putPack, varint, type PackedEntry } from '#test/support/faults/hostile-objects.ts'

/** LocalRepository's errors for refs and objects: missing, without a commit, too large, hostile, of another type, damaged, a link. */
const REFUSALS = ['KN1664', 'KN1209', 'KN7005', 'KN7114', 'KN7007', 'KN7015']
const MAX_MESSAGE = 1_500
/** What a fleet may have in one commit here. */
const LIMITS = { maxFiles: 20, maxFileBytes: 4_096, maxBytes: 16_384 }

/** In memory where there is such a place: on a busy disk a removal takes milliseconds. */
const ROOM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(ROOM, 'kubenode-fuzz-git-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const MODES = ['100644', '100755', '40000', '120000', '160000', '0', '100666', '']
const treeEntry = (mode: string, name: string, oid: string): Buffer =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')])

interface Made {
  readonly type: string
  readonly content: Buffer
}

/** Of one commit, children first; each may be wrong before it gets its name, so that its hash is right all the same. */
function objectsOf(random: Random): { readonly objects: readonly Made[]; readonly commit: string } {
  const objects: Made[] = []
  const spoil = (content: Buffer): Buffer =>
    random.below(16) === 0 ? mutatedBytes(random, content, [content, ...objects.map((o) => o.content)]) : content
  const add = (type: string, content: Buffer): string => {
    const made = {
      type: random.below(60) === 0 ? random.pick(['blob', 'tree', 'commit', 'tag']) : type,
      content: spoil(content),
    }
    objects.push(made)
    return hashOf(made.type, made.content)
  }
  const blobs = Array.from({ length: 1 + random.below(3) }, () =>
    add('blob', Buffer.alloc(random.pick([0, 10, 900, 4_096, 4_097]), random.below(256))),
  )
  const name = () =>
    random.below(12) === 0 ? strangeText(random).slice(0, 400) : random.pick(['main.ts', 'b', 'c', '.GIT'])
  const files = blobs.map((oid) => treeEntry(random.below(12) === 0 ? random.pick(MODES) : '100644', name(), oid))
  const inner = add('tree', Buffer.concat(files))
  const root = add('tree', treeEntry('40000', random.below(20) === 0 ? name() : 'fleet', inner))
  const who = `${random.below(20) === 0 ? strangeText(random) : 't'} <t@example.org> ${random.pick(['1700000000', '-1', '9'.repeat(30)])} +0000`
  const parents = Array.from({ length: random.below(3) }, () => `parent ${'1'.repeat(40)}\n`).join('')
  const text = `tree ${root}\n${parents}author ${who}\ncommitter ${who}\n\nmessage\n`
  let commit = add('commit', Buffer.from(text))
  if (random.below(8) === 0)
    commit = add('tag', Buffer.from(`object ${commit}\ntype commit\ntag x\ntagger ${who}\n\nx\n`))
  return { objects, commit }
}

const TYPE_NUMBER: Readonly<Record<string, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 }
const LYING_SIZES = [0, 1, 4_097, 2 ** 20, 2 ** 27, 2 ** 31, 2 ** 40]
const ZEROS = deflateSync(Buffer.alloc(8 * 1024 * 1024))

function deflated(random: Random, content: Buffer): Buffer {
  const good = deflateSync(content)
  const chance = random.below(40)
  return chance === 0 ? ZEROS : chance < 4 ? mutatedBytes(random, good, [good, ZEROS.subarray(0, 200)]) : good
}

/** As a delta of an earlier object: the common start copied, the rest new, and sometimes anything. */
function deltaOf(random: Random, base: Buffer, content: Buffer): Buffer {
  let same = 0
  while (same < Math.min(base.length, content.length, 0xffff) && base[same] === content[same]) same++
  const copy = same === 0 ? [] : [Buffer.from([0x80 | 0x10 | 0x20, same & 0xff, same >> 8])]
  const rest: Buffer[] = []
  for (let at = same; at < content.length; at += 127) {
    const part = content.subarray(at, at + 127)
    rest.push(Buffer.from([part.length]), part)
  }
  const [b, r] = [base.length, content.length].map((n) => varint(random.below(25) === 0 ? random.pick(LYING_SIZES) : n))
  const delta = Buffer.concat([b ?? Buffer.alloc(0), r ?? Buffer.alloc(0), ...copy, ...rest])
  return random.below(8) === 0 ? mutatedBytes(random, delta, [delta]) : delta
}

function packEntry(random: Random, { type, content }: Made, earlier: readonly Made[]): PackedEntry {
  const oid = hashOf(type, content)
  const size = (n: number) => (random.below(25) === 0 ? random.pick(LYING_SIZES) : n)
  const bases = earlier.filter((o) => o.type === type)
  if (bases.length === 0 || random.below(2) === 0)
    return { oid, type: TYPE_NUMBER[type] ?? 3, size: size(content.length), deflated: deflated(random, content) }
  const base = random.pick(bases)
  const delta = deltaOf(random, base.content, content)
  // Of itself, of a missing object, or valid.
  const named = random.below(20) === 0 ? random.pick([oid, 'f'.repeat(40)]) : hashOf(base.type, base.content)
  return { oid, type: 7, base: named, size: size(delta.length), deflated: deflated(random, delta) }
}

/** Now and then HEAD and branches name each other, or nothing that is a ref. */
function plantRefs(random: Random, gitDir: string, commit: string): void {
  const named = (name: string) => `ref: refs/heads/${name}\n`
  const strange = () => random.pick([named('main'), named('other'), named(strangeText(random)), strangeText(random)])
  const isStrange = () => random.below(8) === 0
  mkdirSync(join(gitDir, 'refs/heads'), { recursive: true })
  writeFileSync(join(gitDir, 'HEAD'), isStrange() ? strange() : named('main'))
  writeFileSync(join(gitDir, 'refs/heads/main'), isStrange() ? strange() : `${commit}\n`)
  if (random.below(4) === 0) writeFileSync(join(gitDir, 'refs/heads/other'), strange())
  if (random.below(8) === 0)
    writeFileSync(join(gitDir, 'packed-refs'), `# pack-refs\n${strangeText(random)}\n${commit} refs/heads/other\n`)
}

function plant(random: Random, gitDir: string, { objects, commit }: ReturnType<typeof objectsOf>): void {
  mkdirSync(join(gitDir, 'objects'), { recursive: true })
  plantRefs(random, gitDir, commit)
  const isPacked = objects.map(() => random.below(2) === 0)
  for (const [i, { type, content }] of objects.entries()) {
    if (isPacked[i] === true) continue
    const length = random.below(25) === 0 ? random.pick(LYING_SIZES) : content.length
    const header = random.below(40) === 0 ? strangeText(random) : `${type} ${length}\0`
    const bytes = Buffer.concat([Buffer.from(header), content])
    putLoose(gitDir, hashOf(type, content), deflated(random, bytes))
  }
  const packed = objects.filter((_, i) => isPacked[i])
  if (packed.length === 0) return
  putPack(
    gitDir,
    'p',
    packed.map((o, i) => packEntry(random, o, packed.slice(0, i))),
  )
}

/** Byte damage of whole files: index, pack, loose objects. */
function damage(random: Random, gitDir: string): void {
  const files = readdirSync(join(gitDir, 'objects'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
  if (files.length === 0) return
  const { parentPath, name } = random.pick(files)
  const path = join(parentPath, name)
  const bytes = readFileSync(path)
  writeFileSync(path, mutatedBytes(random, bytes, [bytes]))
}

const snapshot = (folder: string): string => readdirSync(folder, { recursive: true }).map(String).toSorted().join('\n')

let folders = 0
async function one(random: Random): Promise<string> {
  const gitDir = join(dir, `r${++folders}`)
  try {
    const made = objectsOf(random)
    plant(random, gitDir, made)
    if (random.below(4) === 0) damage(random, gitDir)
    const before = snapshot(gitDir)
    const outcome = await readAll(gitDir, made)
    expect(snapshot(gitDir)).toBe(before)
    return outcome
  } finally {
    rmSync(gitDir, { recursive: true, force: true })
  }
}

/** To an existing commit, or refused. */
async function resolved(
  repository: LocalRepository,
  revision: string,
  known: ReadonlyMap<string, Made>,
): Promise<void> {
  try {
    expect(known.get(await repository.resolve(revision))?.type).toBe('commit')
  } catch (e) {
    requireRefused(e)
  }
}

function requireRefused(e: unknown): string {
  if (!isKubeNodeError(e) || !REFUSALS.includes(e.code)) throw e
  expect(e.message).toBe(printableLine(e.message))
  expect(e.message.length).toBeLessThanOrEqual(MAX_MESSAGE)
  return e.code
}

async function readAll(gitDir: string, { objects, commit }: ReturnType<typeof objectsOf>): Promise<string> {
  const known = new Map(objects.map((o) => [hashOf(o.type, o.content), o]))
  try {
    const repository = openLocalRepository(gitDir)
    for (const revision of ['HEAD', 'main', 'other']) await resolved(repository, revision, known)
    const read = await repository.commit(commit)
    // The content matches the name, so it is the original, whatever the surrounding bytes claim.
    expect(known.get(read.id)?.type).toBe('commit')
    expect(known.get(read.id)?.content.toString('utf8')).toContain(read.author.split(' <')[0] ?? '')
    const files = await repository.readTree(commit, ['fleet'], LIMITS)
    expect(files.size).toBeLessThanOrEqual(LIMITS.maxFiles)
    for (const [path, bytes] of files) {
      expect(path.split('/').map(nameProblem).filter(Boolean)).toEqual([])
      expect(bytes.length).toBeLessThanOrEqual(LIMITS.maxFileBytes)
      const id = await repository.idAt(commit, path)
      const hash = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
      expect([id, known.get(hash)?.content.equals(bytes)]).toEqual([hash, true])
    }
    return files.size > 0 ? 'read' : 'empty'
  } catch (e) {
    return requireRefused(e)
  }
}

test(
  'S8 S29 git objects of any bytes are read by their hash or refused',
  async () => {
    expect(parseTree(treeEntry('100644', 'a', '0'.repeat(40)), 'x')).toHaveLength(1)
    await runCampaign({
      name: 'git objects',
      quick: 800,
      one,
      mustSee: ['read', 'KN7114', 'KN7007', 'KN7015'],
    })
    expect(readdirSync(dir)).toEqual([])
  },
  FUZZ_TIMEOUT_MS,
)
