// The page "Get machines from a system of your own", typed as printed in an empty folder: the provider of the page passes the kit. The page needs no fleet.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultProviders, readProvidersFile } from '#providers/providers-file.ts'
import { blocksIn, Typist } from '#test/support/tools/page.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'

const PAGE = 'docs/tasks/own-provider.md'
const PATIENCE_MS = 240_000
const ROOT = join(import.meta.dirname, '../..')
const hasPython = spawnSync('python3', ['--version']).status === 0

let folder = ''
beforeEach((context) => {
  if (!hasPython) context.skip('this machine has no python3 for the provider of the page')
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'own-provider-')))
  mkdirSync(join(folder, 'fleet'))
})
afterEach(() => {
  if (folder === '') return
  const pid = join(folder, 'own-provider/own-provider.pid')
  if (existsSync(pid)) spawnSync('kill', [readFileSync(pid, 'utf8').trim()])
  rmSync(folder, { recursive: true, force: true })
})

const typist = () => {
  const PATH = `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}`
  return new Typist({
    cwd: join(folder, 'fleet'),
    scratch: folder,
    env: { ...process.env, PATH },
    patienceMs: PATIENCE_MS,
  })
}

test('the page runs as printed', { timeout: 2 * PATIENCE_MS }, async () => {
  await typist().page(PAGE)
  const served = readProvidersFile(join(folder, 'own-provider/providers.yaml'))
  expect(served.map((p) => p.name)).toEqual([...defaultProviders().map((p) => p.name), 'own'])
  expect(JSON.parse(readFileSync(join(folder, 'own-provider/hosts.json'), 'utf8'))).toEqual({})
})

test(
  'a provider that forgets tokens fails the kit, which removes what was made',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const [start] = blocksIn(PAGE)
    const forgetful = (start?.commands ?? '').replace('host["clientToken"] == asked["clientToken"]', 'False')
    expect(forgetful).not.toBe(start?.commands)
    const typed = typist()
    expect(await typed.type(forgetful)).toMatchObject({ code: 0 })
    const { code, out } = await typed.type('kubenode provider conformance --socket own.sock -o json > result.json')
    expect([code, out]).toEqual([1, ''])
    const result = JSON.parse(readFileSync(join(folder, 'own-provider/result.json'), 'utf8')) as {
      readonly results: readonly { readonly case: string; readonly result: string }[]
    }
    const failed = result.results.filter((r) => r.result === 'FAILED').map((r) => r.case)
    expect(failed).toContain('a create repeated after a lost reply returns the same host')
    expect(JSON.parse(readFileSync(join(folder, 'own-provider/hosts.json'), 'utf8'))).toEqual({})
  },
)

test('a place without a provider is said, and the exit code is 2', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const ask = (...args: readonly string[]) => {
    const { status, stderr } = spawnSync(join(ROOT, 'bin/kubenode'), ['provider', 'conformance', ...args], {
      encoding: 'utf8',
    })
    return [status, stderr]
  }
  expect(ask('--socket', join(folder, 'none'))).toEqual([2, expect.stringContaining('KN1206')])
  expect(ask('--socket', file)).toEqual([2, expect.stringContaining('not a socket')])
  expect(ask()).toEqual([2, expect.stringContaining('KN1002')])
  expect(
    execFileSync(join(ROOT, 'bin/kubenode'), ['provider', 'conformance', '--help'], { encoding: 'utf8' }),
  ).toContain('--params')
})
