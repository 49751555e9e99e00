// The clone that the local fleet follows, on the same file system and on another one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { badClusterName } from './layout.ts'
import { commitSize, declaredClusters, provideRepository } from './repository.ts'

let dir = ''
const folders: string[] = []
const folderIn = (parent: string): string => {
  const made = mkdtempSync(join(parent, 'kubenode-repository-'))
  folders.push(made)
  return made
}
const git = (...args: string[]) =>
  execFileSync('git', ['-C', dir, '-c', 'user.name=x', '-c', 'user.email=x@example.org', ...args])
    .toString()
    .trim()

beforeEach(() => {
  dir = folderIn(tmpdir())
  git('init', '--quiet', '-b', 'trunk')
  mkdirSync(join(dir, 'fleet'))
  writeFileSync(join(dir, 'fleet/a.ts'), 'export {}\n')
  git('add', '-A')
  git('commit', '--quiet', '-m', 'one')
})
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test('the clone is at the commit of the checkout, and only made once', async () => {
  const target = join(folderIn(tmpdir()), 'fleet')
  const commit = git('rev-parse', 'HEAD')
  expect(await provideRepository(dir, target)).toEqual({ commit })
  git('commit', '--quiet', '--allow-empty', '-m', 'two')
  expect(await provideRepository(dir, target)).toEqual({ commit })
})

/** A memory file system that Linux distributions mount. */
const OTHER = '/dev/shm'

test('a data folder on another file system gets copies where links are impossible', async (context) => {
  if (!existsSync(OTHER) || statSync(OTHER).dev === statSync(dir).dev)
    context.skip(`${OTHER} is not another file system than ${dir}`)
  const target = join(folderIn(OTHER), 'fleet')
  expect(await provideRepository(dir, target)).toEqual({ commit: git('rev-parse', 'HEAD') })
  expect(readFileSync(join(target, 'fleet/a.ts'), 'utf8')).toBe('export {}\n')
})

test('what an interrupted clone left is replaced', async () => {
  const target = join(folderIn(tmpdir()), 'fleet')
  mkdirSync(join(`${target}.partial`, '.git'), { recursive: true })
  expect(await provideRepository(dir, target)).toEqual({ commit: git('rev-parse', 'HEAD') })
  expect(existsSync(`${target}.partial`)).toBe(false)
})

test('a clone that fails is a numbered error and leaves nothing', async () => {
  const target = join(folderIn(tmpdir()), 'fleet')
  mkdirSync(target)
  writeFileSync(join(target, 'mine'), '')
  await expect(provideRepository(dir, target)).rejects.toThrow(/^KN1220: cannot clone .* to .*; free space/)
  expect(existsSync(`${target}.partial`)).toBe(false)
  expect(existsSync(join(target, 'mine'))).toBe(true)
})

const commitSizes = (text: string): void => {
  mkdirSync(join(dir, 'fleet/clusters'), { recursive: true })
  writeFileSync(join(dir, 'fleet/clusters/size.json'), text)
  git('add', '-A')
  git('commit', '--quiet', '-m', 'sizes')
}

test('the clusters of this machine are those with nodes in the newest commit, in its order', async () => {
  commitSizes('{ "staging": 2, "elsewhere": 0, "live": 1 }')
  writeFileSync(join(dir, 'fleet/clusters/size.json'), '{ "uncommitted": 1 }')
  expect(await declaredClusters(dir)).toEqual(['staging', 'live'])
})

test('--nodes changes the clusters of this machine and no other', async () => {
  commitSizes('{ "staging": 2, "elsewhere": 0, "live": 1 }')
  await commitSize(dir, ['staging', 'live'], 4)
  expect(JSON.parse(git('show', 'HEAD:fleet/clusters/size.json'))).toEqual({ staging: 4, elsewhere: 0, live: 4 })
})

test.each<[string, string | undefined, RegExp]>([
  ['no such file', undefined, /commit [0-9a-f]{8} does not have it/],
  ['no JSON', '{', /KN1223: cannot read the clusters of the fleet from .*size\.json: .*JSON/],
  ['another form', '{ "a": "many" }', /it must be an object of numbers of nodes by cluster/],
  ['a way out of the folder', '{ "../x": 1 }', /cluster "..\/x": use at most 40 lowercase letters/],
  ['the name of the hub', '{ "hub": 1 }', /cluster "hub": the name is taken/],
  ['the name of another folder', '{ "logs": 1 }', /cluster "logs": the name is taken/],
  ['no nodes at all', '{ "a": 0 }', /no cluster has nodes/],
  ['too many', JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`c${i}`, 1]))), /at most 10/],
])('clusters with %s are refused', async (_, text, message) => {
  if (text !== undefined) commitSizes(text)
  await expect(declaredClusters(dir)).rejects.toThrow(message)
})

test('the clusters of the shipped fleet come from the fleet alone: no source here names one', () => {
  const shipped = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../fleet/clusters/size.json'), 'utf8'),
  ) as object
  const names = [...Object.keys(shipped), 'pre']
  expect(names.map(badClusterName)).toEqual(names.map(() => undefined))
  const sources = readdirSync(import.meta.dirname).filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
  const naming = sources.filter((f) =>
    names.some((name) => new RegExp(`['"\`/ ]${name}['"\`/]`).test(readFileSync(join(import.meta.dirname, f), 'utf8'))),
  )
  expect([sources.length > 10, naming]).toEqual([true, []])
})
