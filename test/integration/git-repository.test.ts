// Repositories as git makes them, and as only an attacker does: read, or refused with what to do.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import { uncommitted } from '#sync/git/dirty.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { withWorkTree } from '#sync/git/work-tree.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'

let repository: GitFolder
beforeEach(() => {
  repository = new GitFolder()
})
afterEach(() => repository.remove())

const open = () => openLocalRepository(repository.dir)

describe('names of commits', () => {
  test.each([
    ['HEAD', 0],
    ['main', 0],
    ['HEAD~1', 1],
    ['main^', 1],
    ['v1', 1],
    ['annotated', 1],
    ['annotated~0', 1],
  ])('%s', async (name, back) => {
    const ids = [repository.commit({ 'fleet/a.ts': '1' })]
    repository.git('tag', 'v1')
    repository.git('tag', '-a', 'annotated', '-m', 'x')
    ids.unshift(repository.commit({ 'fleet/a.ts': '2' }))
    expect(await open().resolve(name)).toBe(ids[back])
    repository.git('pack-refs', '--all')
    repository.git('gc', '--quiet')
    expect(await open().resolve(name)).toBe(ids[back])
    expect(await open().resolve((ids[back] ?? '').slice(0, 8))).toBe(ids[back])
  })

  test('the log follows first parents, newest first', async () => {
    const ids = ['1', '2', '3'].map((v) => repository.commit({ 'fleet/a.ts': v }, `commit ${v}`)).toReversed()
    const log = await open().log(ids[0] ?? '', 2)
    expect(log.map((c) => [c.id, c.message])).toEqual([
      [ids[0], 'commit 3\n'],
      [ids[1], 'commit 2\n'],
    ])
  })
})

describe('what cannot be read says what to do', () => {
  test('no folder, and no repository in it', () => {
    expect(() => openLocalRepository('/nowhere/at/all')).toThrow('KN1011')
    const empty = mkdtempSync(join(tmpdir(), 'kubenode-empty-'))
    expect(() => openLocalRepository(empty)).toThrow('run git init')
    rmSync(empty, { recursive: true })
  })

  test('a repository without a commit', async () => {
    await expect(open().resolve('HEAD')).rejects.toMatchObject({ code: 'KN1209' })
  })

  test('a branch that was deleted', async () => {
    repository.commit({ a: '1' })
    await expect(open().resolve('gone')).rejects.toMatchObject({ code: 'KN1664' })
  })

  test('a shallow clone, beyond its end', async () => {
    repository.commit({ a: '1' })
    repository.commit({ a: '2' })
    const clone = `${repository.dir}-shallow`
    execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${repository.dir}`, clone])
    const shallow = openLocalRepository(clone)
    await expect(shallow.resolve('HEAD~1')).rejects.toMatchObject({ code: 'KN7007' })
    rmSync(clone, { recursive: true })
  })

  test.each([
    ['--shared', []],
    ['--shared, bare', ['--bare']],
  ])('a clone with %s, until what the error says is done', async (_, more) => {
    const id = repository.commit({ a: '1' })
    const clone = `${repository.dir}-borrower`
    execFileSync('git', ['clone', '--quiet', '--shared', ...more, repository.dir, clone])
    let said = ''
    try {
      openLocalRepository(clone)
    } catch (error) {
      said = messageOf(error)
    }
    expect(said).toMatch(/^KN7004: .* borrows objects from another one/)
    const [, todo = ''] = /run (git .*); or clone with --dissociate/.exec(said) ?? []
    execFileSync('sh', ['-c', todo])
    rmSync(join(repository.dir, '.git/objects'), { recursive: true })
    expect((await openLocalRepository(clone).log(id, 1)).map((c) => c.id)).toEqual([id])
    rmSync(clone, { recursive: true })
  })

  test.each([
    ['a clone that borrows objects', 'objects/info/alternates', '/elsewhere\n'],
    ['a repository with SHA-256', 'config', '[extensions]\n\tobjectformat = sha256\n'],
    ['a partial clone', 'config', '[extensions]\n\tpartialclone = origin\n'],
    ['a reftable', 'config', '[extensions]\n\trefstorage = reftable\n'],
  ])('%s', (_, file, text) => {
    mkdirSync(join(repository.dir, '.git/objects/info'), { recursive: true })
    appendFileSync(join(repository.dir, '.git', file), text)
    expect(open).toThrow('KN7004')
  })

  test('a linked work tree is read as the repository that it belongs to', async () => {
    const id = repository.commit({ 'fleet/a.ts': '1' })
    const linked = `${repository.dir}-linked`
    repository.git('worktree', 'add', '--quiet', linked)
    expect(await openLocalRepository(linked).resolve('HEAD')).toBe(id)
    rmSync(linked, { recursive: true })
  })
})

describe('trees', () => {
  test('files below the folders that are wanted are read, and no others', async () => {
    const id = repository.commit({ 'fleet/a.ts': 'a', 'fleet/sub/b.ts': 'b', 'rules/c.ts': 'c', 'src/d.ts': 'd' })
    const files = await open().readTree(id, ['fleet', 'rules', 'missing'])
    expect([...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
      ['fleet/a.ts', 'a'],
      ['fleet/sub/b.ts', 'b'],
      ['rules/c.ts', 'c'],
    ])
    expect(await open().idAt(id, 'fleet/sub')).toMatch(/^[0-9a-f]{40}$/)
    expect(await open().idAt(id, 'fleet/none')).toBeUndefined()
  })

  test('a symlink in the fleet is refused, one beside it is not looked at', async () => {
    mkdirSync(join(repository.dir, 'fleet'))
    symlinkSync('/etc/passwd', join(repository.dir, 'elsewhere'))
    const fine = repository.commit({ 'fleet/a.ts': '1' })
    expect((await open().readTree(fine, ['fleet'])).size).toBe(1)
    symlinkSync('/', join(repository.dir, 'fleet/root'))
    const id = repository.commit({})
    await expect(open().readTree(id, ['fleet'])).rejects.toMatchObject({
      code: 'KN7005',
      message: expect.stringContaining('fleet/root') as string,
    })
  })

  test('a submodule in the fleet is refused', async () => {
    const id = repository.commit({ 'fleet/a.ts': '1' })
    repository.git('update-index', '--add', '--cacheinfo', `160000,${id},fleet/module`)
    repository.git('commit', '--quiet', '-m', 'module')
    await expect(open().readTree(repository.git('rev-parse', 'HEAD'), ['fleet'])).rejects.toMatchObject({
      code: 'KN7005',
    })
  })

  /** `git mktree` makes what `git add` refuses. */
  function hostileCommit(name: string): string {
    repository.commit({ 'fleet/a.ts': '1' })
    const blob = repository.git('rev-parse', 'HEAD:fleet/a.ts')
    const raw = Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')])
    const hash = (type: string, input: Buffer | string) =>
      execFileSync('git', ['hash-object', '-t', type, '-w', '--literally', '--stdin'], {
        cwd: repository.dir,
        input,
        encoding: 'utf8',
      }).trim()
    const fleet = hash('tree', raw)
    const root = hash('tree', Buffer.concat([Buffer.from('40000 fleet\0'), Buffer.from(fleet, 'hex')]))
    const who = 't <t@example.org> 1700000000 +0000'
    return hash('commit', `tree ${root}\nauthor ${who}\ncommitter ${who}\n\nx\n`)
  }

  test.each(['..', '.git', '.GIT', 'main.ts\r', 'a\\b', 'a/b', 'git~1', '.g\u200cit'])(
    'a tree with the name %j is refused',
    async (name) => {
      await expect(open().readTree(hostileCommit(name), ['fleet'])).rejects.toMatchObject({ code: 'KN7015' })
    },
  )

  test.each([
    ['too many files', { maxFiles: 2 }],
    ['a file that is too large', { maxFileBytes: 3 }],
    ['too much in all', { maxBytes: 10 }],
  ])('%s are refused', async (_, limits) => {
    const id = repository.commit({ 'fleet/a.ts': 'aaaa', 'fleet/b.ts': 'bbbb', 'fleet/c.ts': 'cccc' })
    await expect(open().readTree(id, ['fleet'], limits)).rejects.toMatchObject({ code: 'KN7114' })
  })

  test('folders that nest without end are refused', async () => {
    const id = repository.commit({ [`fleet/${'d/'.repeat(40)}a.ts`]: '1' })
    await expect(open().readTree(id, ['fleet'])).rejects.toMatchObject({ code: 'KN7114' })
  })
})

describe('a copy of a remote repository', () => {
  const mirror = () => ({ cacheDir: join(repository.dir, '.git/mirror'), env: { PATH: process.env['PATH'] ?? '' } })

  test.each(['ext::sh -c touch% /tmp/x', 'http://example.org/x.git', 'git://example.org/x.git'])(
    '%s is not fetched',
    async (url) => {
      await expect(fetchMirror(url, { branch: 'main' }, mirror())).rejects.toMatchObject({ code: 'KN1520' })
    },
  )

  test('hooks of the copy are never run, and a missing branch is an error', async () => {
    repository.commit({ 'fleet/a.ts': '1' })
    const url = `file://${repository.dir}`
    await fetchMirror(url, { branch: 'main' }, mirror())
    await expect(fetchMirror(url, { branch: 'none' }, mirror())).rejects.toMatchObject({ code: 'KN7049' })
  })
})

describe('a copy whose git was killed', () => {
  const options = () => ({ cacheDir: join(repository.dir, '.git/mirror'), env: { PATH: process.env['PATH'] ?? '' } })
  const fetched = () => fetchMirror(`file://${repository.dir}`, { branch: 'main' }, options())

  test('is fetched again: locks and half packs that no living git can hold are removed, fresh ones are not', async () => {
    const first = repository.commit({ 'fleet/a.ts': '1' })
    await fetched()
    const [copy = ''] = readdirSync(options().cacheDir)
    const dir = join(options().cacheDir, copy)
    const second = repository.commit({ 'fleet/a.ts': '2' })
    const stale = ['refs/heads/main.lock', 'objects/pack/tmp_pack_Ab12', 'packed-refs.lock'].map((f) => join(dir, f))
    for (const path of stale) writeFileSync(path, '')
    await expect(fetched()).rejects.toMatchObject({ code: 'KN7009' })
    expect([first, stale.every((f) => existsSync(f))]).toEqual([first, true])
    for (const path of stale) utimesSync(path, new Date(0), new Date(0))
    expect(await (await fetched()).resolve('refs/heads/main')).toBe(second)
    expect(stale.filter((f) => existsSync(f))).toEqual([])
  })

  test('S31 links in it, or in its place, lead nowhere: what lies there stays', async () => {
    const commit = repository.commit({ 'fleet/a.ts': '1' })
    await fetched()
    const [copy = ''] = readdirSync(options().cacheDir)
    const dir = join(options().cacheDir, copy)
    const outside = join(repository.dir, '.git/outside')
    mkdirSync(join(outside, 'pack'), { recursive: true })
    const locks = ['a.lock', 'pack/tmp_pack_Ab12'].map((name) => join(outside, name))
    for (const path of locks) writeFileSync(path, '')
    for (const path of locks) utimesSync(path, new Date(0), new Date(0))
    symlinkSync(outside, join(dir, 'objects/pack/out'))
    expect(await (await fetched()).resolve('refs/heads/main')).toBe(commit)
    expect(locks.filter((f) => !existsSync(f))).toEqual([])
    rmSync(dir, { recursive: true })
    symlinkSync(outside, dir)
    writeFileSync(join(outside, 'HEAD'), 'ref: refs/heads/main')
    expect(await (await fetched()).resolve('refs/heads/main')).toBe(commit)
    expect(readdirSync(outside).toSorted()).toEqual(['HEAD', 'a.lock', 'pack'])
    expect(lstatSync(dir).isDirectory()).toBe(true)
  })

  test('is made again when it was not finished', async () => {
    const commit = repository.commit({ 'fleet/a.ts': '1' })
    await fetched()
    const [copy = ''] = readdirSync(options().cacheDir)
    rmSync(join(options().cacheDir, copy, 'HEAD'))
    expect(await (await fetched()).resolve('refs/heads/main')).toBe(commit)
    expect(readdirSync(options().cacheDir)).toEqual([copy])
  })
})

test('uncommitted changes are reported', async () => {
  const commit = repository.commit({ 'fleet/a.ts': '1', 'fleet/gone.ts': '1', 'fleet/same.ts': '1', 'src/b.ts': '1' })
  writeFileSync(join(repository.dir, 'fleet/a.ts'), '2')
  writeFileSync(join(repository.dir, 'src/b.ts'), '2')
  mkdirSync(join(repository.dir, 'fleet/new'))
  writeFileSync(join(repository.dir, 'fleet/new/c.ts'), '1')
  writeFileSync(join(repository.dir, 'fleet/notes.txt'), '1')
  rmSync(join(repository.dir, 'fleet/gone.ts'))
  expect(await uncommitted(open(), commit, ['fleet'])).toEqual(['fleet/a.ts', 'fleet/gone.ts', 'fleet/new/c.ts'])
})

test('a work tree is read as if its edits were committed, and without following links', async () => {
  const commit = repository.commit({ 'fleet/a.ts': '1', 'fleet/gone.ts': '1', 'fleet/same.ts': '1' })
  writeFileSync(join(repository.dir, 'fleet/a.ts'), '2')
  rmSync(join(repository.dir, 'fleet/gone.ts'))
  writeFileSync(join(repository.dir, 'fleet/new.ts'), '3')
  symlinkSync('/etc/passwd', join(repository.dir, 'fleet/link.ts'))
  const read = async (from: GitRepository) =>
    Object.fromEntries(
      [...(await from.readTree(commit, ['fleet']))].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]),
    )
  expect(await read(withWorkTree(open()))).toEqual({ 'fleet/a.ts': '2', 'fleet/new.ts': '3', 'fleet/same.ts': '1' })
  expect(await read(open())).toEqual({ 'fleet/a.ts': '1', 'fleet/gone.ts': '1', 'fleet/same.ts': '1' })
})
