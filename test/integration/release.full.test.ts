// `npm run release -- --dry-run` as a whole, twice, and its package as a stranger uses it: in an empty folder, without the repository.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { VERSION } from '#lib/program-version.ts'

const ROOT = join(import.meta.dirname, '../..')
const MINUTES = 20 * 60_000
let scratch = ''
let noImage: string | undefined

const release = (out: string) =>
  spawnSync(process.execPath, [join(ROOT, 'build/release/main.ts'), '--dry-run', '--out', out], { encoding: 'utf8' })
const sumsOf = (folder: string) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8')

beforeAll(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-release-full-')))
  const { status, stderr } = release(join(scratch, 'one'))
  // Where no mirror of Debian is reached.
  if (/cannot (fetch|use) (the Debian package|packages of Debian|the Node\.js package)/.test(stderr))
    noImage = stderr.trim()
  else if (status !== 0) throw new Error(stderr)
}, MINUTES)
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const needsImage = (context: TestContext): void => {
  if (noImage !== undefined) context.skip(noImage)
}

test('it has all parts, and a second run makes the same bytes', { timeout: MINUTES }, (context) => {
  needsImage(context)
  const again = release(join(scratch, 'two'))
  expect(again.status, again.stderr).toBe(0)
  const sums = sumsOf(join(scratch, 'one'))
  expect(sumsOf(join(scratch, 'two'))).toBe(sums)
  expect(
    sums
      .trimEnd()
      .split('\n')
      .map((line) => line.split('  ')[1]),
  ).toEqual([
    'agent-linux-amd64.tar.gz',
    'agent-linux-arm64.tar.gz',
    'join.sh',
    `kubenode-${VERSION}.tgz`,
    'kubenode-crds.yaml',
    'kubenode-image.tar',
    'kubenode-install.yaml',
    'kubenode-monitoring.yaml',
    'kubenode.provenance.json',
    'kubenode.spdx.json',
    'release-notes.md',
  ])
})

test('both archives of the agent bring the libraries that small hosts lack', (context) => {
  needsImage(context)
  for (const arch of ['amd64', 'arm64']) {
    const { stdout } = spawnSync('tar', ['-tzf', join(scratch, `one/agent-linux-${arch}.tar.gz`)], { encoding: 'utf8' })
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['bin/node', 'lib/libatomic.so.1', 'lib/libgcc_s.so.1', 'lib/libstdc++.so.6']),
    )
  }
})

test('the package works in an empty folder: version, init, lint and plan', { timeout: MINUTES }, (context) => {
  needsImage(context)
  const folder = join(scratch, 'empty')
  mkdirSync(folder)
  const env = {
    ...process.env,
    HOME: scratch,
    GIT_AUTHOR_NAME: 't',
    GIT_AUTHOR_EMAIL: 't@example.org',
    GIT_COMMITTER_NAME: 't',
    GIT_COMMITTER_EMAIL: 't@example.org',
  }
  const sh = (script: string, cwd = folder) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', script], { cwd, env, encoding: 'utf8' })
    expect(status, `${script}\n${stdout}\n${stderr}`).toBe(0)
    return stdout + stderr
  }
  sh(`npm install --no-audit --no-fund ${join(scratch, 'one', `kubenode-${VERSION}.tgz`)}`)
  expect(sh('npx kubenode version')).toContain(VERSION)
  sh('npx kubenode init my-fleet --cluster prod-1')
  const fleet = join(folder, 'my-fleet')
  sh('npm ci --no-audit --no-fund && git add -A && git commit -qm start', fleet)
  sh('npx kubenode lint fleet', fleet)
  expect(sh('npx kubenode plan', fleet)).toMatch(/\d+ to add, 0 to change, 0 to remove/)
})
