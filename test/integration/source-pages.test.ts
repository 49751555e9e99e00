// The how-to pages private-repository, signed-commits and sync-reverts, typed as they are printed on a hub that follows a repository. Only addresses differ.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { microTimestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { HooksServer } from '#sync/hooks/server.ts'
import { eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { startGitServer } from '#test/support/servers/git-server.ts'
import { missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { type Block, blocksIn, Typist } from '#test/support/tools/page.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const PATIENCE_MS = 300_000
const NAME = { namespace: SYSTEM_NAMESPACE, name: 'fleet' }
const AUTHOR = {
  GIT_AUTHOR_NAME: 'a reader',
  GIT_AUTHOR_EMAIL: 'reader@localhost',
  GIT_COMMITTER_NAME: 'a reader',
  GIT_COMMITTER_EMAIL: 'reader@localhost',
}

const stops: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
}, PATIENCE_MS)

const fleet = (text: string) => ({
  'fleet/main.ts': `import { App } from 'cdk8s'
import { HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] } }] } })
app.synth() // ${text}
`,
})

const lacks = (name: string): boolean => {
  try {
    execFileSync('/bin/sh', ['-c', `command -v ${name}`], { stdio: 'ignore' })
    return false
  } catch {
    return true
  }
}
const missingOf = (...programs: readonly string[]): string | undefined =>
  programs.filter(lacks).map((name) => `no ${name} on this machine`)[0]

/** The folders of a local fleet around the repository: the current folder of a reader is the repository, and the kubeconfig of the hub is beside it. */
async function world(clusters: readonly string[] = [], files: Readonly<Record<string, string>> = fleet('1')) {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-pages-'))
  stops.push(() => rmSync(folder, { recursive: true, force: true }))
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  let bench: SyncBench
  try {
    bench = await syncBench(clusters)
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
  stops.push(() => bench.close())
  const kubeconfig = join(folder, 'hub/apiserver/admin.kubeconfig')
  mkdirSync(join(folder, 'hub/apiserver'), { recursive: true })
  writeFileSync(kubeconfig, bench.hub.server.adminKubeconfig())
  const first = bench.repository.commit(files)
  await bench.start()
  await eventually(
    () => commitOf(bench),
    (c) => c === first,
  )
  const { client } = bench.hub
  const metadata = { name: 'kubenode-sync', namespace: SYSTEM_NAMESPACE }
  const spec = { holderIdentity: 'a', leaseDurationSeconds: 3_600, renewTime: microTimestamp(Date.now()) }
  await client.create<KubeObject>(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
  const typist = (cwd: string, more: Readonly<Record<string, string>>): Typist => {
    const env = { ...process.env, ...AUTHOR, PATH: `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}`, ...more }
    return new Typist({ cwd, scratch: folder, env, patienceMs: PATIENCE_MS })
  }
  return { folder, bench, kubeconfig, typist }
}

const sourceOf = (bench: SyncBench) => bench.hub.client.get(fleetSource, NAME)
const commitOf = async (bench: SyncBench) => (await sourceOf(bench))?.status?.commit

describe('as printed', () => {
  test('docs/tasks/private-repository.md: https, ssh and a webhook', { timeout: 2 * PATIENCE_MS }, async (context) => {
    onlyInFull(context)
    const missing = missingSshServer() ?? missingOf('kubectl', 'openssl', 'curl', 'ssh-keyscan')
    if (missing !== undefined) context.skip(missing)
    const { folder, bench, kubeconfig, typist } = await world()
    const { client } = bench.hub
    const now = Date.now()
    const authority = newAuthority('git', { now, days: 2 })
    const validity = { now, days: 1 }
    const subject = { commonName: 'git' }
    const git = await startGitServer(
      bench.repository.dir,
      issueCertificate(authority, { subject, validity, usage: 'server', hosts: ['localhost'] }),
    )
    stops.push(() => git.close())
    const token = 'a-token-that-may-only-read'
    const expected = `Basic ${Buffer.from(`fleet:${token}`).toString('base64')}`
    git.answer = (given) => (given === expected ? { kind: 'Repository' } : { kind: 'Refused', status: 401 })
    const ssh = await startSshServer()
    stops.push(() => ssh.close())
    writeFileSync(join(folder, 'token.txt'), token)
    writeFileSync(join(folder, 'ca.crt'), authority.certificate)
    const options = { client, clock: systemClock, log: silentLogger }
    const informers = createInformers({ ...options, random: systemRandom, startSpreadMs: 0 })
    stops.push(() => informers.stop())
    const sources = informers.of(fleetSource)
    informers.start()
    await informers.synced()
    const hooks = new HooksServer({ ...options, host: '127.0.0.1', port: 0, sources })
    await hooks.start()
    stops.push(() => hooks.stop())

    const url = `https://localhost:${git.port}/${basename(bench.repository.dir)}/.git`
    const here = (text: string): string =>
      text
        .replaceAll('https://git.example.org/platform/fleet.git', url)
        .replaceAll(
          'ssh://git@git.example.org/platform/fleet.git',
          ssh.urlOf(bench.repository.dir).replace('127.0.0.1', 'localhost'),
        )
        .replaceAll('-t ed25519 git.example.org', `-t ed25519 -p ${ssh.port} localhost`)
        .replaceAll('https://HOST/hooks', `http://127.0.0.1:${hooks.port}/hooks`)
    const page = 'docs/tasks/private-repository.md'
    const reader = typist(folder, { KUBECONFIG: kubeconfig })
    const type = (block: Block | undefined) =>
      reader.block(page, { ...(block as Block), commands: here(block?.commands ?? 'false') })
    const blocks = blocksIn(page)
    expect(blocks).toHaveLength(5)
    const [https, sshKey, sshUse, hook, call] = blocks
    await type(https)
    expect((await sourceOf(bench))?.spec.url).toBe(url)
    await type(sshKey)
    // What the page asks of the operator of the server.
    appendFileSync(join(ssh.folder, 'authorized'), `restrict ${readFileSync(join(folder, 'deploy-key.pub'), 'utf8')}`)
    await type(sshUse)
    await type(hook)
    const pushed = bench.repository.commit(fleet('2'))
    await type(call)
    await eventually(
      () => commitOf(bench),
      (c) => c === pushed,
    )
  })

  test('docs/tasks/signed-commits.md: with an SSH key', { timeout: 2 * PATIENCE_MS }, async (context) => {
    const missing = missingOf('kubectl', 'ssh-keygen')
    if (missing !== undefined) context.skip(missing)
    const { folder, bench, typist } = await world()
    const home = join(folder, 'home')
    mkdirSync(join(home, '.ssh'), { recursive: true, mode: 0o700 })
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada', '-f', join(home, '.ssh/id_ed25519')])
    await typist(bench.repository.dir, { HOME: home }).page('docs/tasks/signed-commits.md')
    expect((await sourceOf(bench))?.spec.verify?.mode ?? 'Off').toBe('Off')
  })

  test('docs/tasks/sync-reverts.md: a branch for review, merged', { timeout: 2 * PATIENCE_MS }, async (context) => {
    onlyInFull(context)
    const missing = missingOf('kubectl', 'ssh-keygen')
    if (missing !== undefined) context.skip(missing)
    const { bench, typist } = await world(['test'], breakable())
    const page = 'docs/tasks/sync-reverts.md'
    const reader = typist(bench.repository.dir, {})
    for (const block of blocksIn(page)) {
      // A reader waits for soaks and deadlines.
      const waiting = setInterval(() => bench.pass(TEN_MINUTES_MS), 1_000)
      await reader.block(page, block).finally(() => clearInterval(waiting))
    }
  })
})

const TEN_MINUTES_MS = 600_000

/** The pipeline of this repository, and beacon 1.2.0 as a set of machines that no provider creates. */
const breakable = (): Readonly<Record<string, string>> => ({
  'fleet/main.ts': `import { ApiObject, App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet } from 'kubenode/constructs'
import versions from './clusters/versions.json' with { type: 'json' }
import { declarePipeline } from './pipelines/standard.ts'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
declarePipeline(hub)
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: versions })
const selector = { matchLabels: { a: 'b' } }
const template = { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } }
if (versions.beacon === '1.2.0') new MachineSet(chart, 'workers', { spec: { replicas: 1, selector, template } })
app.synth()
`,
  'fleet/pipelines/standard.ts': readFileSync(join(ROOT, 'fleet/pipelines/standard.ts'), 'utf8'),
  'fleet/clusters/versions.json': readFileSync(join(ROOT, 'fleet/clusters/versions.json'), 'utf8'),
})
