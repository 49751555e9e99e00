import { execFileSync, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeOwnedFolder } from '#lib/owned-folders.ts'
import { packFolder } from '#artifacts/authoring/pack.ts'
import { DeclaredFiles } from './declared.ts'
import { exportCommit } from './repository.ts'

let root = ''
const lines: string[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-declared-'))
  lines.length = 0
  mkdirSync(join(root, 'artifacts'))
  git('init', '--quiet', '-b', 'main')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const repository = () => join(root, 'fleet')
function git(...args: string[]): string {
  mkdirSync(repository(), { recursive: true })
  const named = ['-c', 'user.name=x', '-c', 'user.email=x@example.org']
  return execFileSync('git', ['-C', repository(), ...named, ...args])
    .toString()
    .trim()
}
function commit(files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(repository(), 'fleet', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  git('add', '-A')
  git('commit', '--quiet', '-m', 'change')
  return git('rev-parse', 'HEAD')
}
const declared = () =>
  new DeclaredFiles({
    layout: { root, repository: repository(), artifacts: join(root, 'artifacts'), follows: undefined },
    pack: packFolder,
    print: (line) => void lines.push(line),
  })
const served = (name: string) => readFileSync(join(root, 'artifacts', name), 'utf8')

test('what is served is what the commit holds, not the working tree, and follows the newest commit', async () => {
  const files = declared()
  const first = commit({ 'components/trust/trust.json': '1' })
  writeFileSync(join(repository(), 'fleet/components/trust/trust.json'), 'half an edit')
  expect(await files.serve(first)).toBe(0)
  expect(served('trust.json')).toBe('1')
  files.follow(first)
  await files.idle()
  expect(lines).toEqual([])
  files.follow(commit({ 'components/trust/trust.json': '2' }))
  await files.idle()
  // Sync may refuse the commit, so nothing is said of what the fleet is at.
  expect(lines).toEqual([
    expect.stringMatching(/^commit [0-9a-f]{12} "change" by .+: 0 component versions signed and packed$/),
  ])
  expect(served('trust.json')).toBe('2')
  expect(readdirSync(root).filter((f) => f.startsWith('commit-'))).toEqual([])
})

test('the trust document is there before anything is packed, and a newer one only with what is packed', async () => {
  const files = declared()
  await expect(
    files.serve(commit({ 'components/nope.json': '{"kind":"Pod"}', 'components/trust/trust.json': '1' })),
  ).rejects.toThrow()
  expect(served('trust.json')).toBe('1')
  await expect(files.serve(commit({ 'components/trust/trust.json': '2' }))).rejects.toThrow()
  expect(served('trust.json')).toBe('1')
})

test('agent.json is not served from the newest commit: it goes through plan and stages', async () => {
  await declared().serve(commit({ 'components/trust/trust.json': '1', 'machines/agent.json': '{ "logs": [' }))
  expect(readdirSync(join(root, 'artifacts'))).toEqual(['trust.json'])
})

test('the folder that a killed start left behind is removed by the next one, and one in use is not', async () => {
  const child = spawnSync(process.execPath, ['-e', LEAVE_FOLDER, root], { encoding: 'utf8' })
  expect([child.signal, child.stderr]).toEqual(['SIGKILL', ''])
  const inUse = makeOwnedFolder({ parent: root, prefix: 'commit-' })
  expect(exports()).toHaveLength(2)
  await declared().serve(commit({ 'components/trust/trust.json': '1' }))
  expect(exports().map((f) => join(root, f))).toEqual([inUse])
})

const exports = () => readdirSync(root).filter((f) => f.startsWith('commit-'))
const OWNED_FOLDERS = join(import.meta.dirname, '../../lib/owned-folders.ts')
/** Left by a start that was killed while it exported a commit. */
const LEAVE_FOLDER = `
const { makeOwnedFolder } = await import(${JSON.stringify(OWNED_FOLDERS)})
makeOwnedFolder({ parent: process.argv[1], prefix: 'commit-' })
process.kill(process.pid, 'SIGKILL')
`

test('a commit that cannot be served is reported once, and what was served stays', async () => {
  const files = declared()
  await files.serve(commit({ 'components/trust/trust.json': '1' }))
  const broken = commit({ 'components/nope.json': '{"kind":"Pod"}', 'components/trust/trust.json': '2' })
  for (let i = 0; i < 3; i++) {
    files.follow(broken)
    await files.idle()
  }
  expect(lines).toEqual([expect.stringMatching(/^cannot serve the components of commit [0-9a-f]{12} "change" by .+: /)])
  expect(served('trust.json')).toBe('1')
})

test('a commit beyond the bounds of sync is refused with a number before it is written, and what was served stays', async () => {
  const files = declared()
  const first = commit({ 'components/trust/trust.json': '1' })
  await files.serve(first)
  const large = commit({ 'components/trust/trust.json': '2', 'large.bin': 'x'.repeat(9 * 1024 * 1024) })
  await expect(files.serve(large)).rejects.toThrow(
    /KN7114: cannot read fleet\/large\.bin .*limit 8388608.*remove files/,
  )
  git('rm', '--quiet', 'fleet/large.bin')
  symlinkSync('/etc/passwd', join(repository(), 'fleet/link'))
  const link = commit({})
  await expect(files.serve(link)).rejects.toThrow(/KN7005: cannot read fleet\/link .*it is a symlink/)
  expect(served('trust.json')).toBe('1')
  expect(readdirSync(root).filter((name) => name.startsWith('commit-'))).toEqual([])
})

test('what a file may do is kept, and no attribute of the repository changes or hides one', async () => {
  commit({ '.gitattributes': '* export-ignore export-subst\n', 'run.sh': '$Format:%H$', 'plain.txt': 'x' })
  git('update-index', '--chmod=+x', 'fleet/run.sh')
  git('commit', '--quiet', '-m', 'mode')
  const target = join(root, 'out')
  await exportCommit(repository(), git('rev-parse', 'HEAD'), target)
  expect(readFileSync(join(target, 'fleet/run.sh'), 'utf8')).toBe('$Format:%H$')
  const mode = (name: string) => statSync(join(target, 'fleet', name)).mode & 0o777
  expect([mode('run.sh'), mode('plain.txt')]).toEqual([0o700, 0o600])
})
