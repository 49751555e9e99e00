// The clone that the local fleet follows, on the same file system and on another one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { badClusterName } from './layout.ts'
import { commitSize, provideRepository } from './repository.ts'

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

test('the revert that a status advises ends well in the clone, which is pushed nowhere', async () => {
  const target = join(folderIn(tmpdir()), 'fleet')
  git('commit', '--quiet', '--allow-empty', '-m', 'two')
  await provideRepository(dir, target)
  const inClone = (...args: string[]) => execFileSync('git', ['-C', target, ...args], { stdio: 'pipe' }).toString()
  writeFileSync(join(target, 'fleet/a.ts'), 'export const a = 1\n')
  inClone('commit', '--quiet', '-am', 'bad')
  inClone('revert', '--no-edit', inClone('rev-parse', 'HEAD').trim())
  inClone('push')
  expect(readFileSync(join(target, 'fleet/a.ts'), 'utf8')).toBe('export {}\n')
  expect(inClone('log', '--format=%s').split('\n')[0]).toBe('Revert "bad"')
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

test('--nodes changes every cluster that the fleet declares', async () => {
  commitSizes('{ "staging": 2, "live": 1 }')
  await commitSize(dir, 4)
  expect(JSON.parse(git('show', 'HEAD:fleet/clusters/size.json'))).toEqual({ staging: 4, live: 4 })
})

test.each([
  ['../x', /use at most 40 lowercase letters/],
  ['x'.repeat(41), /use at most 40/],
  ['a.b.c', /lowercase letters, digits and dashes/],
  ['hub', /the name is taken/],
  ['logs', /the name is taken/],
  ['control-planes', /the name is taken/],
])('no cluster of this machine is named %s', (name, why) => expect(badClusterName(name)).toMatch(why))

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
