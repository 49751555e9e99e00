// The attacker may push what git itself accepts: refs and commits whose names and dates mislead. Sync follows the ref that its source names, or nothing.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isKubeNodeError } from '#lib/errors.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { fetchMirror, type WantedRef } from '#sync/git/mirror.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { execFileSync } from 'node:child_process'

const { PATH = '' } = process.env
let repository: GitFolder
let folder: string
beforeEach(() => {
  repository = new GitFolder()
  folder = mkdtempSync(join(tmpdir(), 'kubenode-changing-'))
})
afterEach(() => {
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

const open = () => openLocalRepository(repository.dir)
const fetched = (ref: WantedRef) =>
  fetchMirror(`file://${repository.dir}`, ref, { cacheDir: join(folder, 'cache'), env: { PATH } })
/** Git writes any bytes where it is asked to. */
const written = (type: 'commit' | 'tree', bytes: string | Buffer): string =>
  execFileSync('git', ['hash-object', '-t', type, '--literally', '-w', '--stdin'], {
    cwd: repository.dir,
    input: bytes,
    encoding: 'utf8',
  }).trim()
const treeOf = (commit: string) => repository.git('rev-parse', `${commit}^{tree}`)

describe('two refs with one name', () => {
  test('a branch is followed where a branch is named, and a tag where a tag is', async () => {
    const tagged = repository.commit({ 'fleet/main.ts': 'tag' })
    repository.git('tag', 'release')
    const onBranch = repository.commit({ 'fleet/main.ts': 'branch' })
    repository.git('branch', 'release')
    const branch = await fetched({ branch: 'release' })
    expect(await branch.resolve('refs/heads/release')).toBe(onBranch)
    const tag = await fetched({ tag: 'release' })
    expect(await tag.resolve('refs/tags/release')).toBe(tagged)
    expect(await tag.resolve('refs/heads/release')).toBe(onBranch)
  })

  test('a tag that moves is followed as a tag, and a branch of its name is not', async () => {
    repository.commit({ 'fleet/main.ts': '1' })
    repository.git('tag', 'v1')
    await fetched({ tag: 'v1' })
    repository.git('tag', '-d', 'v1')
    repository.commit({ 'fleet/main.ts': '2' })
    repository.git('branch', 'v1')
    await expect(fetched({ tag: 'v1' })).rejects.toMatchObject({ code: 'KN7049' })
  })

  test('a branch that is called like a commit is not that commit', async () => {
    const good = repository.commit({ 'fleet/main.ts': 'good' })
    const evil = repository.commit({ 'fleet/main.ts': 'evil' })
    repository.git('update-ref', `refs/heads/${good}`, evil)
    repository.git('update-ref', `refs/tags/${good}`, evil)
    expect(await open().resolve(good)).toBe(good)
    expect(await (await fetched({ commit: good })).resolve('refs/kubenode/commit')).toBe(good)
  })
})

describe('a name that is no branch', () => {
  test.each([
    '-x',
    '--upload-pack=touch owned',
    'a..b',
    'a.lock',
    'main:refs/heads/evil',
    '^main',
    '*',
    'a b',
    '@{-1}',
    '../../evil',
    'main\nevil',
    'main^{tree}',
    'a//b',
    '.',
  ])('%j is refused by name, and writes nothing', async (branch) => {
    repository.commit({ 'fleet/main.ts': '1' })
    await fetched({ branch: 'main' })
    const failed = await fetched({ branch }).catch((error: unknown) => error)
    expect(isKubeNodeError(failed) && failed.code).toMatch(/^KN70/)
    expect(String(failed)).not.toMatch(/\n/)
    const [copy = ''] = readdirSync(join(folder, 'cache'))
    expect(readdirSync(join(folder, 'cache', copy, 'refs/heads'))).toEqual(['main'])
    expect(existsSync(join(folder, 'owned')) || existsSync('owned') || existsSync(join(folder, 'evil'))).toBe(false)
  })

  test('a branch that begins with a dash is a branch like any other', async () => {
    const id = repository.commit({ 'fleet/main.ts': '1' })
    repository.git('update-ref', 'refs/heads/-x', id)
    expect(await (await fetched({ branch: '-x' })).resolve('refs/heads/-x')).toBe(id)
  })
})

describe('links between refs and commits that only this machine has', () => {
  test('refs that name each other end, and one out of the folder leads nowhere', async () => {
    repository.commit({ 'fleet/main.ts': '1' })
    const ref = (name: string, text: string) =>
      writeFileSync(join(repository.dir, '.git/refs/heads', name), `${text}\n`)
    ref('a', 'ref: refs/heads/b')
    ref('b', 'ref: refs/heads/a')
    writeFileSync(join(repository.dir, 'secret'), `${'a'.repeat(40)}\n`)
    ref('out', 'ref: ../secret')
    ref('far', 'ref: refs/../../secret')
    for (const name of ['a', 'out', 'far']) await expect(open().resolve(name)).rejects.toMatchObject({ code: /^KN70/ })
  })

  test('a graft gives a commit no other parents', async () => {
    const [first, second] = [repository.commit({ a: '1' }), repository.commit({ a: '2' })]
    const third = repository.commit({ a: '3' })
    mkdirSync(join(repository.dir, '.git/info'), { recursive: true })
    writeFileSync(join(repository.dir, '.git/info/grafts'), `${third} ${first}\n`)
    expect((await open().commit(third)).parents).toEqual([second])
    expect((await open().log(third, 9)).map((c) => c.id)).toEqual([third, second, first])
  })
})

describe('dates of a commit', () => {
  const YEAR_9999 = Date.parse('9999-12-31T23:59:59Z') / 1_000
  test.each([
    ['after 2106', '4294967296 +0000'],
    ['of the year 9999', `${YEAR_9999} +0000`],
    ['that no calendar has', '9007199254740991 +0000'],
    ['beyond all numbers', '99999999999999999999 +0000'],
    ['before 1970', '-86400 +0000'],
    ['in a zone that is none', '1700000000 +9999'],
    ['that is no number', 'soon +0000'],
  ])('%s: it is read with a time that can be shown, or refused by name', async (_, date) => {
    const parent = repository.commit({ 'fleet/main.ts': '1' })
    const id = written(
      'commit',
      `tree ${treeOf(parent)}\nparent ${parent}\nauthor e <e@e> ${date}\ncommitter e <e@e> ${date}\n\nx\n`,
    )
    const read = await open()
      .commit(id)
      .catch((error: unknown) => error)
    if (isKubeNodeError(read)) expect(read.code).toBe('KN7007')
    else {
      const { time, parents } = read as Awaited<ReturnType<ReturnType<typeof open>['commit']>>
      expect(parents).toEqual([parent])
      expect(() => new Date(time * 1_000).toISOString()).not.toThrow()
    }
  })
})

describe('names in a tree', () => {
  test('that differ in case only are two files, and only the ones of the fleet are read', async () => {
    const blob = (text: string) =>
      execFileSync('git', ['hash-object', '-w', '--stdin'], {
        cwd: repository.dir,
        input: text,
        encoding: 'utf8',
      }).trim()
    const tree = (lines: readonly string[]) =>
      execFileSync('git', ['mktree'], { cwd: repository.dir, input: `${lines.join('\n')}\n`, encoding: 'utf8' }).trim()
    repository.commit({ a: '1' })
    const inside = tree([`100644 blob ${blob('evil')}\tMain.ts`, `100644 blob ${blob('good')}\tmain.ts`])
    const other = tree([`100644 blob ${blob('evil')}\tmain.ts`])
    const root = tree([`040000 tree ${other}\tFleet`, `040000 tree ${inside}\tfleet`])
    const id = repository.git('commit-tree', root, '-m', 'x')
    const files = await open().readTree(id, ['fleet'])
    expect([...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
      ['fleet/Main.ts', 'evil'],
      ['fleet/main.ts', 'good'],
    ])
  })

  test('100,000 files beside the fleet cost nothing, and in it they are refused with the limit', async () => {
    const id = repository.commit({ 'fleet/main.ts': '1' })
    const blob = Buffer.from(repository.git('rev-parse', `${id}:fleet/main.ts`), 'hex')
    const entry = (mode: string, name: string, oid: Buffer) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), oid])
    const names = Array.from({ length: 10_000 }, (_, i) => entry('100644', `f${String(i).padStart(6, '0')}`, blob))
    const many = Buffer.from(written('tree', Buffer.concat(names)), 'hex')
    const tens = Array.from({ length: 10 }, (_, i) => entry('40000', `d${i}`, many))
    const deep = Buffer.from(written('tree', Buffer.concat(tens)), 'hex')
    const fleet = Buffer.from(repository.git('rev-parse', `${id}:fleet`), 'hex')
    const rootOf = (...parts: readonly Buffer[]) =>
      repository.git('commit-tree', written('tree', Buffer.concat(parts)), '-m', 'x')
    const beside = rootOf(entry('40000', 'data', deep), entry('40000', 'fleet', fleet))
    expect([...(await open().readTree(beside, ['fleet'])).keys()]).toEqual(['fleet/main.ts'])
    await expect(open().readTree(rootOf(entry('40000', 'fleet', deep)), ['fleet'])).rejects.toMatchObject({
      code: 'KN7114',
      message: expect.stringContaining('20000') as unknown,
    })
  })
})
