// What `kubenode init` writes, and what it never does: change an existing file, follow a link, put a private key into the repository.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { judgeStatement } from '#api/trust/statement.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { parseSignedTrust } from '#api/trust/trust-document.ts'
import { initFleet, type InitOptions, type InitWorld } from './init.ts'

const NOW = Date.UTC(2026, 10, 21)
let home = ''

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-init-')))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const pack: InitWorld['pack'] = async (folder) => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'kubenode-1.tgz')
  writeFileSync(file, 'packed')
  return { file, bytes: 6, integrity: 'sha512-x', entries: { 'node_modules/kubenode': { version: '1' } } }
}

const init = (options: Partial<InitOptions> = {}, world: Partial<InitWorld> = {}) =>
  initFleet(
    { dir: 'fleet', cluster: 'prod', force: false, ...options },
    { cwd: home, env: { HOME: home, PATH: process.env['PATH'] }, now: NOW, pack, ...world },
  )

const at = (...path: readonly string[]) => join(home, 'fleet', ...path)
const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
const leftovers = () => readdirSync(home).filter((name) => name.startsWith('.kubenode-init-'))

test('the repository has a fleet, keys of its own, checks and kubenode; the private key is outside, for its owner alone', async () => {
  const made = await init()
  expect(made).toMatchObject({ folder: at(), name: 'fleet', isNewKey: true, kept: [] })
  expect(made.keyFile).toBe(join(home, '.config/kubenode/fleet/signing.pem'))
  expect(statSync(made.keyFile).mode & 0o777).toBe(0o600)
  expect(json(at('package.json'))).toMatchObject({ devDependencies: { kubenode: 'file:vendor/kubenode-1.tgz' } })
  expect(json(at('package-lock.json'))).toMatchObject({
    packages: { 'node_modules/kubenode': { resolved: 'file:vendor/kubenode-1.tgz', integrity: 'sha512-x' } },
  })
  for (const path of [
    '.gitignore',
    '.github/workflows/check.yml',
    '.github/workflows/plan.yml',
    '.github/workflows/preview.yml',
    'check.sh',
    'fleet/main.ts',
    'README.md',
  ])
    expect(existsSync(at(path)), path).toBe(true)
  expect(statSync(at('check.sh')).mode & 0o100).toBe(0o100)
  expect(readFileSync(at('README.md'), 'utf8')).toContain(made.keyFile)
  expect(readFileSync(at('README.md'), 'utf8')).not.toMatch(/\{\{/)
  const signed = parseSignedTrust(json(at('fleet/components/trust/trust.json')))
  const { spec } = json(at('fleet/components/hello-1.0.0.json')) as { spec: Parameters<typeof judgeStatement>[0] }
  expect(judgeStatement(spec, signed!.document, NOW)).toMatchObject({ kind: 'Trusted' })
  const files = [...entriesBelow(at())].filter((e) => e.kind === 'File')
  expect(files.filter((e) => readFileSync(at(e.path), 'utf8').includes('PRIVATE KEY'))).toEqual([])
  expect(existsSync(at('src'))).toBe(false)
  expect(execFileSync('git', ['-C', at(), 'branch', '--show-current'], { encoding: 'utf8' })).toBe('main\n')
  expect(leftovers()).toEqual([])
})

test('a folder that is not empty is refused; an empty one is used', async () => {
  mkdirSync(at())
  await init()
  await expect(init()).rejects.toThrow(/^KN1501: .* it is not empty \(it has \.git, \.github, \.gitignore\)/)
  writeFileSync(join(home, 'file'), '')
  await expect(init({ dir: 'file' })).rejects.toThrow(/^KN1501: .*it exists and is not a folder/)
})

test('--force adds what is missing and changes nothing that is there', async () => {
  mkdirSync(at('fleet'), { recursive: true })
  writeFileSync(at('fleet/main.ts'), '// mine\n')
  writeFileSync(at('package.json'), '{}\n')
  const { kept } = await init({ force: true })
  expect(kept.toSorted()).toEqual(['fleet/main.ts', 'package.json'])
  expect(readFileSync(at('fleet/main.ts'), 'utf8')).toBe('// mine\n')
  expect(existsSync(at('fleet/nodes.ts'))).toBe(true)
  // Again, over its own files: nothing changes, and the key stays.
  const before = readFileSync(at('fleet/components/trust/trust.json'), 'utf8')
  const again = await init({ force: true }, { now: NOW + 1_000 })
  expect(again.isNewKey).toBe(false)
  expect(readFileSync(at('fleet/components/trust/trust.json'), 'utf8')).toBe(before)
})

test('S31 --force writes through no link', async () => {
  mkdirSync(join(home, 'elsewhere'))
  mkdirSync(at())
  symlinkSync(join(home, 'elsewhere'), at('fleet'))
  symlinkSync(join(home, 'elsewhere/made.json'), at('package.json'))
  await expect(init({ force: true })).rejects.toThrow(/^KN1501: .*it is not a folder/)
  expect(readdirSync(join(home, 'elsewhere'))).toEqual([])
})

test('an interrupted run leaves no half repository, and the next one succeeds with the same key', async () => {
  const dies: InitWorld['pack'] = () => Promise.reject(new Error('killed'))
  await expect(init({}, { pack: dies })).rejects.toThrow('killed')
  expect(existsSync(at())).toBe(false)
  const key = readFileSync(join(home, '.config/kubenode/fleet/signing.pem'), 'utf8')
  const made = await init()
  expect(made.isNewKey).toBe(false)
  expect(readFileSync(made.keyFile, 'utf8')).toBe(key)
  expect(leftovers()).toEqual([])
})

describe('refused', () => {
  test.each<[string, Partial<InitOptions>, RegExp]>([
    ['a key inside the repository', { key: 'fleet/signing.pem' }, /^KN1502/],
    ['a name that npm does not take', { name: 'My Fleet' }, /^KN1002: .*--name/],
    ['a name that leaves the folder of keys', { name: '../x' }, /^KN1002: .*--name/],
    ['a name of no cluster', { cluster: 'Prod_1' }, /^KN1002: .*--cluster/],
  ])('%s', async (_, options, why) => {
    await expect(init(options)).rejects.toThrow(why)
    expect(existsSync(at())).toBe(false)
  })

  test('a key inside the repository by way of a link', async () => {
    mkdirSync(at())
    symlinkSync(at(), join(home, 'link'))
    await expect(init({ key: 'link/signing.pem' })).rejects.toThrow(/^KN1502/)
  })

  test('a machine without git', async () => {
    const env = { HOME: home, PATH: '/nonexistent' }
    await expect(init({}, { env })).rejects.toThrow(/^KN1208: .*git is not installed/)
  })
})
