// `npm run release -- --dry-run` without what takes minutes: equal bytes twice, and what a stranger checks with tools of the system. The image, the agent and the
// package are in release.full.test.ts.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateKey } from '#api/trust/keys.ts'
import { VERSION } from '#lib/program-version.ts'

const ROOT = join(import.meta.dirname, '../..')
let scratch = ''
let key = ''

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'kubenode-release-test-'))
  key = join(scratch, 'release.pem')
  writeFileSync(key, generateKey().pem, { mode: 0o600 })
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const release = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'build/release/main.ts'), ...args], { cwd: scratch, encoding: 'utf8' })
const contentsOf = (folder: string) =>
  readdirSync(folder)
    .toSorted()
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')] as const)

test('made twice, in two folders, it has the same bytes, and a table names its files', () => {
  const [one, two] = ['one', 'two'].map((out) =>
    release('--dry-run', '--only', 'manifests', '--key', key, '--out', out),
  )
  expect([one?.status, two?.status], `${one?.stderr}${two?.stderr}`).toEqual([0, 0])
  const files = contentsOf(join(scratch, 'one'))
  expect(contentsOf(join(scratch, 'two'))).toEqual(files)
  const names = files.map(([name]) => name)
  expect(names).toEqual([
    'SHA256SUMS',
    'SHA256SUMS.sig',
    'kubenode-crds.yaml',
    'kubenode-install.yaml',
    'kubenode-monitoring.yaml',
    'kubenode.provenance.json',
    'kubenode.spdx.json',
    'release-notes.md',
  ])
  for (const name of names)
    expect(one?.stdout).toMatch(new RegExp(`^${name} +\\d+(?:\\.\\d)? [kM]B +[0-9a-f]{64}$`, 'm'))
  expect(one?.stderr).toMatch(/^- it lacks package, agent, image: leave out --only$/m)
})

test('S6 sha256sum and openssl verify it, and one changed byte is found', () => {
  const folder = join(scratch, 'one')
  const sh = (script: string) => spawnSync('sh', ['-eu', '-c', script], { cwd: folder, encoding: 'utf8' })
  const page = readFileSync(join(ROOT, 'docs/operations/release.md'), 'utf8')
  const [, commands = ''] = /## Verify a release[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? []
  expect(commands).toMatch(/openssl.*\n.*sha256sum/)
  expect(sh(`openssl pkey -in ${key} -pubout -out ../kubenode.pub`).status).toBe(0)
  const checked = sh(commands.replaceAll('kubenode.pub', '../kubenode.pub'))
  expect([checked.status, checked.stdout], checked.stderr).toEqual([
    0,
    expect.stringContaining('kubenode.spdx.json: OK'),
  ])
  writeFileSync(join(folder, 'SHA256SUMS'), `${readFileSync(join(folder, 'SHA256SUMS'), 'utf8')}\n`)
  expect(sh(commands.replaceAll('kubenode.pub', '../kubenode.pub')).status).not.toBe(0)
})

test('without --dry-run it makes nothing of what is not fit to be released, and lists what to do', () => {
  const { status, stderr } = release('--only', 'manifests', '--out', 'three')
  expect(status).toBe(1)
  expect(stderr).toMatch(
    new RegExp(`^cannot release ${VERSION.replaceAll('.', '\\.')}; --dry-run makes the files anyway\\n- no key`),
  )
  expect(readdirSync(scratch)).not.toContain('three')
})

test('it replaces no folder that is not a release, and refuses parts that do not exist', () => {
  mkdirSync(join(scratch, 'mine'))
  writeFileSync(join(scratch, 'mine/thesis.txt'), 'a')
  expect(release('--dry-run', '--only', 'manifests', '--out', 'mine').stderr).toMatch(
    /mine is not the folder of a release: remove it/,
  )
  expect(release('--dry-run', '--only', 'manifests', '--key', 'none.pem', '--out', 'four').stderr).toMatch(
    /^cannot make the release: KN\d+: cannot read the signing key .*none\.pem/,
  )
  expect(release('--dry-run', '--only', 'manifests,snap').stderr).toMatch(
    /a release has no part "snap"; name some of manifests, package, agent, image/,
  )
  expect(readdirSync(join(scratch, 'mine'))).toEqual(['thesis.txt'])
})
