// What becomes of a source whose branch is deleted or renamed, whose repository is shallow, or whose server is away: each is named, and what was fetched before is rendered on.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import { Renders } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startGitServer } from '#test/support/servers/git-server.ts'

let folder: string
let repository: GitFolder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-reports-'))
  repository = new GitFolder()
})
afterEach(() => {
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

const PATH = process.env['PATH'] ?? ''
const told = (branch = 'main', url = `file://${repository.dir}`) =>
  fetchMirror(url, { branch }, { cacheDir: join(folder, 'cache'), env: { PATH }, reader: 'one' }).then(
    (copy) => copy.resolve(`refs/heads/${branch}`),
    (error: Error) => error.message,
  )

test('F17 a branch that was renamed or deleted is reported with what the repository has instead', async () => {
  const commit = repository.commit({ 'fleet/main.ts': '1' })
  expect(await told()).toBe(commit)
  repository.git('branch', '-m', 'main', 'trunk')
  expect(await told()).toMatch(
    /^KN7049: .* has no branch main; branch trunk is at the commit that was fetched before, so it was probably renamed; push it again, or set spec.ref/,
  )
  repository.commit({ 'fleet/main.ts': '2' })
  expect(await told()).toMatch(/^KN7049: .* has no branch main; it has trunk; .*stays in force/)
  expect(await told('never')).toMatch(/^KN7049: .* has no branch never; it has trunk/)
})

test('F17 a shallow repository is reported, instead of a branch that stays as it was without a word', async () => {
  repository.commit({ 'fleet/main.ts': '1' })
  const first = repository.git('rev-parse', 'HEAD')
  expect(await told()).toBe(first)
  repository.commit({ 'fleet/main.ts': '2' })
  const shallow = join(folder, 'shallow')
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${repository.dir}`, shallow])
  expect(await told('main', `file://${shallow}`)).toMatch(/^KN1666: .*shallow clone.*git fetch --unshallow/)
  execFileSync('git', ['-C', shallow, 'fetch', '--quiet', '--unshallow'])
  expect(await told('main', `file://${shallow}`)).toBe(repository.git('rev-parse', 'HEAD'))
})

test('S8 a commit with an entry that git itself refuses is reported with the object, and not as a wrong address', async () => {
  repository.commit({ 'fleet/main.ts': '1' })
  const blob = Buffer.from(repository.git('rev-parse', 'HEAD:fleet/main.ts'), 'hex')
  const input = Buffer.concat([Buffer.from('100644 ..\0'), blob])
  const make = ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin']
  const tree = execFileSync('git', make, { cwd: repository.dir, input, encoding: 'utf8' }).trim()
  repository.git('branch', 'hostile', repository.git('commit-tree', tree, '-m', 'x'))
  const said = await told('hostile')
  expect(said).toMatch(/^KN7015: .*contains '\.\.'; remove that object .*stays in force/)
  expect(said).toContain(`object ${tree.slice(0, 12)}:`)
})

test('F17 while the server is away, also over a restart, the commit fetched before is rendered', async () => {
  const commit = repository.commit({
    'fleet/main.ts': `import { App, ApiObject, Chart } from 'cdk8s'
const app = new App()
new ApiObject(new Chart(app, 'test'), 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'shop' } })
app.synth()
`,
  })
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const given = {
    subject: { commonName: 'git' },
    validity: { now, days: 1 },
    usage: 'server',
    hosts: ['localhost'],
  } as const
  const server = await startGitServer(repository.dir, issueCertificate(authority, given))
  const data = { 'ca.crt': Buffer.from(authority.certificate).toString('base64') }
  const source = {
    metadata: { namespace: 'shop', name: 'shop' },
    spec: {
      url: `https://localhost:${server.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`,
      path: '.',
      ref: { branch: 'main' },
      secretRef: { name: 'git' },
    },
  } as unknown as FleetSource
  const gitReach = { trusted: ['localhost'] }
  const restarted = () =>
    new Renders({ cacheDir: join(folder, 'cache'), weakCage: 'allow', gitEnv: { PATH }, gitReach }, systemClock, {
      readSecret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git' }, data }),
    })
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'fine',
      (error: Error) => error.message,
    )
  expect((await restarted().fetch(source)).commit).toBe(commit)
  await server.close()
  const after = restarted()
  expect(await failure(after.fetch(source))).toMatch(/^KN7009: .*stays in force/)
  expect((await after.render(source, commit)).targets.get('test')?.objects).toHaveLength(1)
  // Neither a commit that it never fetched, nor the copy of another source.
  expect(await failure(restarted().render(source, 'a'.repeat(40)))).toMatch(/^KN7009/)
  const other = { ...source, metadata: { namespace: 'shop', name: 'other' } }
  expect(await failure(restarted().render(other, commit))).toMatch(/^KN7009/)
})
