// The repository of the local fleet: the demo's, created as a user has it, on the same file system and on another one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { demoCommits, demoFiles, demoHistory } from './demo-repository.ts'
import { badClusterName, layoutOf } from './layout.ts'
import { commitSize, newestCommit, provideDemo } from './repository.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const NOW = Date.parse('2026-01-31T12:00:00Z')
let dir = ''
const folders: string[] = []
const folderIn = (parent: string): string => {
  const made = mkdtempSync(join(parent, 'kubenode-repository-'))
  folders.push(made)
  return made
}
const gitIn = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@example.org', ...args], { stdio: 'pipe' })
    .toString()
    .trim()
const git = (...args: string[]) => gitIn(dir, ...args)

beforeEach(() => {
  dir = folderIn(tmpdir())
  git('init', '--quiet', '-b', 'trunk')
  git('commit', '--quiet', '--allow-empty', '-m', 'one')
})
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const demoIn = async (parent: string): Promise<string> => {
  const target = join(folderIn(parent), 'repository')
  await provideDemo(ROOT, target, NOW)
  return target
}

test('the demo is what init makes, with the fleet and rules of the release, and nothing else of it', async () => {
  const target = await demoIn(tmpdir())
  const tracked = gitIn(target, 'ls-files').split('\n')
  for (const path of [
    '.gitignore',
    '.github/workflows/check.yml',
    'README.md',
    'check.sh',
    'package.json',
    'tsconfig.json',
  ])
    expect(tracked).toContain(path)
  const tops = new Set(tracked.flatMap((f) => f.split('/').slice(0, 1)))
  expect([...tops].toSorted()).toEqual([
    '.github',
    '.gitignore',
    'README.md',
    'check.sh',
    'fleet',
    'package.json',
    'rules',
    'tsconfig.json',
  ])
  expect(tracked.filter((f) => /\.test\.ts$|history\.json|README\.md$/.test(f))).toEqual(['README.md'])
  for (const path of ['fleet/main.ts', 'fleet/clusters/clusters.json', 'rules/node/not-ready.ts'])
    expect(readFileSync(join(target, path), 'utf8')).toBe(readFileSync(join(ROOT, path), 'utf8'))
  expect(statSync(join(target, 'check.sh')).mode & 0o100).toBe(0o100)
  expect(gitIn(target, 'status', '--porcelain')).toBe('')
})

test('its history is some ten commits, a day each, none of them empty', async () => {
  const target = await demoIn(tmpdir())
  const log = gitIn(target, 'log', '--reverse', '--format=%s|%ct').split('\n')
  expect(log).toHaveLength(10)
  expect(log[0]).toMatch(/^fleet: start\|/)
  const times = log.map((l) => Number(l.split('|')[1]))
  expect(times.at(-1)).toBe(NOW / 1_000)
  expect(times.slice(1).map((t, i) => t - (times[i] ?? 0))).toEqual(Array.from({ length: 9 }, () => 86_400))
  for (const [at] of log.slice(1).entries())
    expect(gitIn(target, 'diff', '--stat', `HEAD~${at + 1}`, `HEAD~${at}`)).not.toBe('')
})

test('a history that does not end with the fleet as it is, or names a file that is gone, is refused', () => {
  const files = demoFiles(ROOT)
  const path = 'fleet/clusters/versions.json'
  expect(() => demoHistory(files, [{ subject: 'a', files: { [path]: ['{}'] } }])).toThrow(/does not end with/)
  expect(() => demoHistory(files, [{ subject: 'a', files: { gone: null } }])).toThrow(/names gone/)
  expect(demoCommits(ROOT).length).toBeGreaterThan(5)
})

test('it is made once: commits of a newcomer stay', async () => {
  const target = await demoIn(tmpdir())
  gitIn(target, 'commit', '--quiet', '--allow-empty', '-m', 'mine')
  const commit = gitIn(target, 'rev-parse', 'HEAD')
  await provideDemo(ROOT, target, NOW + 1_000)
  expect(await newestCommit({ repository: target, follows: undefined })).toBe(commit)
})

test('the demo follows its branch while another one is checked out, such as that of a preview', async () => {
  const target = await demoIn(tmpdir())
  const commit = gitIn(target, 'rev-parse', 'HEAD')
  gitIn(target, 'switch', '--quiet', '-c', 'preview/try')
  gitIn(target, 'commit', '--quiet', '--allow-empty', '-m', 'tried')
  expect(await newestCommit({ repository: target, follows: undefined })).toBe(commit)
})

test('the revert that a status advises ends well in it, which is pushed nowhere', async () => {
  const target = await demoIn(tmpdir())
  writeFileSync(join(target, 'fleet/main.ts'), '')
  gitIn(target, 'commit', '--quiet', '-am', 'bad')
  gitIn(target, 'revert', '--no-edit', gitIn(target, 'rev-parse', 'HEAD'))
  gitIn(target, 'push')
  expect(readFileSync(join(target, 'fleet/main.ts'), 'utf8')).toBe(readFileSync(join(ROOT, 'fleet/main.ts'), 'utf8'))
  expect(gitIn(target, 'log', '--format=%s').split('\n')[0]).toBe('Revert "bad"')
})

/** A memory file system that Linux distributions mount. */
const OTHER = '/dev/shm'

test('a data folder on another file system has the same repository', async (context) => {
  if (!existsSync(OTHER) || statSync(OTHER).dev === statSync(dir).dev)
    context.skip(`${OTHER} is not another file system than ${dir}`)
  const [here, there] = [await demoIn(tmpdir()), await demoIn(OTHER)].map((at) => gitIn(at, 'rev-parse', 'HEAD'))
  expect(there).toBe(here)
})

test('what an interrupted start left is replaced', async () => {
  const target = join(folderIn(tmpdir()), 'repository')
  mkdirSync(join(`${target}.partial`, '.git'), { recursive: true })
  await provideDemo(ROOT, target, NOW)
  expect(existsSync(join(target, 'fleet/main.ts'))).toBe(true)
  expect(existsSync(`${target}.partial`)).toBe(false)
})

test('one that cannot be made is a numbered error and leaves nothing', async () => {
  const target = join(folderIn(tmpdir()), 'repository')
  mkdirSync(target)
  writeFileSync(join(target, 'mine'), '')
  await expect(provideDemo(ROOT, target, NOW)).rejects.toThrow(
    /^KN1205: cannot make the repository of the demo in .*; free space/,
  )
  expect(existsSync(`${target}.partial`)).toBe(false)
  expect(existsSync(join(target, 'mine'))).toBe(true)
})

test('a release without a demo, outside of any fleet, says how to have one', async () => {
  const target = join(folderIn(tmpdir()), 'repository')
  await expect(provideDemo(dir, target, NOW)).rejects.toThrow(/^KN1231: .*; make a fleet with kubenode init my-fleet/)
})

test('the branch that a fleet of a person was on when it started is followed, whatever is checked out later', async () => {
  const commit = git('rev-parse', 'HEAD')
  const { repository, follows } = layoutOf('/data', { repository: dir, path: '.', branch: 'trunk' })
  git('switch', '--quiet', '-c', 'try')
  git('commit', '--quiet', '--allow-empty', '-m', 'two')
  expect(await newestCommit({ repository, follows })).toBe(commit)
  git('pack-refs', '--all')
  expect(await newestCommit({ repository, follows })).toBe(commit)
})

const commitSizes = (text: string): void => {
  mkdirSync(join(dir, 'fleet/clusters'), { recursive: true })
  writeFileSync(join(dir, 'fleet/clusters/clusters.json'), text)
  git('add', '-A')
  git('commit', '--quiet', '-m', 'sizes')
}

test('--nodes changes every cluster that the fleet declares', async () => {
  commitSizes(
    '{ "eu-1": { "stage": "test", "nodes": 2 }, "live": { "stage": "prod", "nodes": 1 }, "old": { "stage": "prod", "registered": true } }',
  )
  await commitSize(dir, 4)
  expect(git('show', 'HEAD:fleet/clusters/clusters.json')).toBe(
    [
      '{',
      '  "eu-1": { "stage": "test", "nodes": 4 },',
      '  "live": { "stage": "prod", "nodes": 4 },',
      '  "old": { "stage": "prod", "registered": true }',
      '}',
    ].join('\n'),
  )
})

test.each([
  ['../x', /use at most 40 lowercase letters/],
  ['x'.repeat(41), /use at most 40/],
  ['a.b.c', /lowercase letters, digits and dashes/],
  ['hub', /the name is taken/],
  ['logs', /the name is taken/],
  ['control-planes', /the name is taken/],
  ['repository', /the name is taken/],
])('no cluster of this machine is named %s', (name, why) => expect(badClusterName(name)).toMatch(why))

test('the clusters of the shipped fleet come from the fleet alone: no source here names one', () => {
  const shipped = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../fleet/clusters/clusters.json'), 'utf8'),
  ) as object
  const names = [...Object.keys(shipped), 'pre']
  expect(names.map(badClusterName)).toEqual(names.map(() => undefined))
  const sources = readdirSync(import.meta.dirname).filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
  const naming = sources.filter((f) =>
    names.some((name) => new RegExp(`['"\`/ ]${name}['"\`/]`).test(readFileSync(join(import.meta.dirname, f), 'utf8'))),
  )
  expect([sources.length > 10, naming]).toEqual([true, []])
})

test('an editor finds the types in it: nothing that the fleet imports is unknown', async () => {
  const target = await demoIn(tmpdir())
  const check = () =>
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', target], { encoding: 'utf8', stdio: 'pipe' })
  expect(check()).toBe('')
})
