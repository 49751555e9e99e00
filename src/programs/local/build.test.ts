import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'
import { build, buildApart, inAscii, manifestsBy, markedBuild } from '#install/package/build.ts'
import { builtOf, buildsIn, entryIn, sourcesOf } from '#install/package/built.ts'
import { programEnv } from './environment.ts'
import { isFull } from '#test/support/tools/full.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const WHOLE = ['src', 'deploy', 'package.json', 'package-lock.json']
/** Enough where nothing is built in the end. */
const SMALL = ['src/cli', 'deploy', 'package.json', 'package-lock.json']

function checkout(names = WHOLE): { root: string; cache: string } {
  const root = mkdtempSync(join(tmpdir(), 'kubenode-build-'))
  folders.push(root)
  for (const name of names) cpSync(join(releaseRoot(), name), join(root, name), { recursive: true })
  symlinkSync(join(releaseRoot(), 'node_modules'), join(root, 'node_modules'))
  const cache = join(root, 'cache')
  mkdirSync(cache)
  return { root, cache }
}

const options = (where: { root: string; cache: string }) => ({
  ...where,
  node: process.execPath,
  env: programEnv(where.cache),
})

test(
  'a build runs as its sources do, belongs to them, and is gone with the first edit',
  { timeout: 120_000 },
  async () => {
    const where = checkout()
    expect(builtOf(where)).toBeUndefined()
    // Of other checkouts with the same packages: those of the last hour may be in use, however many there are.
    const ofOthers = (name: string, at: Date): string => {
      const folder = join(buildsIn(where.cache), name)
      mkdirSync(folder, { recursive: true })
      utimesSync(folder, at, at)
      return folder
    }
    const young = ['a', 'b', 'c', 'd'].map((name) => ofOthers(name, new Date()))
    const old = ofOthers('e', new Date(0))
    const built = await build(where)
    expect([...young, old].map((folder) => existsSync(folder))).toEqual([true, true, true, true, false])
    for (const folder of young) rmSync(folder, { recursive: true })
    expect(built.ending).toBe('.mjs')
    expect(builtOf(where)).toEqual(built)
    expect(manifestsBy(built, where.root)).toEqual(manifestsBy(sourcesOf(where.root), where.root))
    const said = (entry: string) => execFileSync(process.execPath, [entry, 'version'], { encoding: 'utf8' })
    expect(said(entryIn(built, 'main'))).toBe(said(entryIn(sourcesOf(where.root), 'main')))
    for (const name of ['agent-main', 'hollow-main', 'sqlite-writer', 'sqlite-folder'])
      expect(existsSync(entryIn(built, name)), name).toBe(true)
    for (const name of readdirSync(built.folder).filter((f) => f.endsWith('.mjs')))
      expect(readFileSync(join(built.folder, name), 'utf8'), name).not.toMatch(/[\u0100-\uffff]/)
    // Like an editor: the sources are the same, and the mark is written again.
    const mark = join(built.folder, '..', 'current')
    utimesSync(mark, 1, 1)
    expect(markedBuild(where)).toEqual(built)
    expect([readFileSync(mark, 'utf8').trim(), statSync(mark).mtimeMs > 1_000]).toEqual([basename(built.folder), true])
    const before = statSync(built.folder).ino
    // A second start keeps a running build, and leaves nothing of its own behind.
    expect(await build(where)).toEqual(built)
    expect(statSync(built.folder).ino).toBe(before)
    expect(readdirSync(join(built.folder, '..')).toSorted()).toEqual([basename(built.folder), 'current'].toSorted())
    // Like a host after a power loss. A build takes some seconds of CPU, so by default the file is restored by hand.
    const agent = entryIn(built, 'agent-main')
    const whole = readFileSync(agent)
    truncateSync(agent)
    expect(builtOf(where)).toBeUndefined()
    if (isFull) expect(await build(where)).toEqual(built)
    else writeFileSync(agent, whole)
    expect(builtOf(where)).toEqual(built)
    utimesSync(join(where.root, 'src/cli/main.ts'), new Date(), new Date(0))
    expect(builtOf(where)).toBeUndefined()
  },
)

test('a text in ASCII alone means the same', () => {
  const text = ['a … b', '×', 'é', '😀', 'plain'].join('\n')
  const program = `${JSON.stringify(text)}.replace(/…/g, 'x…') + (/^.$/u.test('😀') ? 'one' : 'two')`
  const small = inAscii(program)
  expect(small).not.toBe(program)
  expect(Buffer.from(small, 'ascii').toString('ascii')).toBe(small)
  // oxlint-disable-next-line no-eval -- a text of this test
  expect((0, eval)(small)).toBe((0, eval)(program))
})

test('S31 links among the sources are not followed, and the sources run', async () => {
  const where = checkout(SMALL)
  symlinkSync('/', join(where.root, 'src/everything'))
  expect(builtOf(where)).toBeUndefined()
  expect(await build(where)).toEqual(sourcesOf(where.root))
  expect(readdirSync(where.cache)).toEqual([])
  rmSync(join(where.root, 'src/everything'))
  // An editor's dangling link.
  symlinkSync('somebody@somewhere', join(where.root, 'src/.#main.ts'))
  expect(builtOf(where)).toBeUndefined()
})

test('where nothing can be built the sources run', async () => {
  const where = checkout(SMALL)
  rmSync(join(where.root, 'src/cli/agent-main.ts'))
  expect(await build(where)).toEqual(sourcesOf(where.root))
  rmSync(where.cache, { recursive: true })
  expect(await build({ ...where, cache: join(where.root, 'package.json') })).toEqual(sourcesOf(where.root))
})

test('where no build can be made apart, the sources themselves run', async () => {
  const where = checkout(SMALL)
  expect(await buildApart({ ...options(where), node: '/nonexistent/node' })).toEqual(sourcesOf(where.root))
})

test('an interrupt ends a build that runs apart', async () => {
  const where = checkout(SMALL)
  const node = join(where.root, 'node')
  const began = join(where.root, 'began')
  writeFileSync(node, `#!/bin/sh\necho $$ >${began}\nexec sleep 600\n`, { mode: 0o755 })
  const interrupt = new AbortController()
  const built = buildApart({ ...options(where), node, signal: interrupt.signal })
  await until(
    'the build has begun',
    () => (existsSync(began) && readFileSync(began, 'utf8') !== '') || undefined,
    20_000,
  )
  interrupt.abort(new Error('interrupted'))
  await expect(built).rejects.toThrow('interrupted')
  const pid = Number(readFileSync(began, 'utf8'))
  await until('it has ended', () => !processesWith('sleep 600').some((p) => p.pid === pid) || undefined, 20_000)
})
