// Previews by branch over a bare repository behind https: hub with the shipped roles and policies, its Defender, the host of control planes, the program of clusters,
// and sync as its own user.
import { onlyInFull } from '#test/support/tools/full.ts'
import { builtCage } from '#test/support/tools/own-build.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '#cli/program.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { newsReader } from '#explain/release/news.ts'
import { syncModule } from '#sync/role.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { clusterWorld, foldersIn, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'

const CONFIG_MAP = coreKind('ConfigMap')
const ROLE_BINDING = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
}
const { kinds, rest } = manifests()
const DECLARED = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

let repository: SignedRepository
let world: ClusterWorld
let server: GitServer
let stops: (() => Promise<void>)[]

/** The source follows main, and trusts ada from its first commit on. */
async function begin(): Promise<void> {
  const anchor = repository.commit(fleet('1'), { key: undefined, message: 'the anchor' })
  const data = { 'ca.crt': Buffer.from(authority.certificate).toString('base64') }
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'git', namespace: CLUSTERS_NAMESPACE },
    data,
  })
  await world.admin.apply(
    fleetSource,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE },
      spec: {
        url: `https://localhost:${server.port}/${repository.folder.split('/').at(-1) ?? ''}/fleet.git`,
        ref: { branch: 'main' },
        interval: '1s',
        secretRef: { name: 'git' },
        verify: {
          mode: 'All',
          anchor,
          signers: [{ principal: 'ada@example.org', keys: [repository.publicKey('ada')] }],
        },
        tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
        previews: { branches: 'preview/*', template: 'dev', max: 2 },
      },
    },
    DECLARED,
  )
}

const authority = newAuthority('git', { now: Date.now(), days: 30 })

const fleet = (version: string, hub = '', others = '') => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'dev', clusters: { names: ['dev', 'prod'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'dev', { spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete', stage: 'dev' } })
${hub}
const chart = new ClusterChart(app, 'dev')
new ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
${others}
app.synth()
`,
})

async function startSync(): Promise<() => Promise<void>> {
  const { hub } = world
  const connection = {
    server: hub.url,
    ca: { data: hub.ca },
    clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
  }
  const as = (user: string) => new HttpKubeClient({ ...connection, impersonate: { user } })
  const client = as(programUser('sync'))
  const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const events = createEventRecorder({ client, clock: systemClock, controller: 'kubenode.io/sync', instance: 't' })
  const running = syncModule.setup({
    ...own,
    informers,
    metrics: createMetrics(),
    events,
    connect: (config) => new HttpKubeClient(config),
    hubAs: as,
    news: newsReader,
    config: {
      cacheDir: join(repository.folder, 'cache'),
      weakCage: 'allow',
      caged: builtCage(),
      gitReach: { trusted: ['localhost'] },
      gitEnv: { PATH: process.env['PATH'] ?? '' },
      renderLimits: { deadlineMs: 300_000 },
    },
  })
  informers.start()
  await informers.synced()
  for (const controller of running.controllers) controller.start()
  for (const part of running.parts ?? []) await part.start(new AbortController().signal)
  return async () => {
    for (const part of running.parts ?? []) await part.stop(0)
    await Promise.all(running.controllers.map((c) => c.stop(0)))
    await informers.stop()
    client.close()
  }
}

beforeEach(async () => {
  stops = []
  repository = new SignedRepository()
  server = await startGitServer(
    repository.folder,
    issueCertificate(authority, {
      subject: { commonName: 'git' },
      validity: { now: Date.now(), days: 2 },
      usage: 'server',
      hosts: ['localhost'],
    }),
  )
  world = await clusterWorld({ addons: async () => addonsOf('1', kinds, rest) })
})
afterEach(async () => {
  for (const stop of stops) await stop()
  await world.close()
  await server.close()
  repository.remove()
})

/** Signs nothing. */
const NOBODY = 'nobody'

function pushBranch(branch: string, files: Readonly<Record<string, string>>, key: string = 'ada'): string {
  repository.write(files)
  const signed = key === NOBODY ? ['commit', '--no-gpg-sign'] : [...repository.signedBy(key), 'commit', '-S']
  repository.run([...signed, '--quiet', '--allow-empty', '-m', `work on ${branch}`])
  repository.run(['push', '--quiet', '--force', 'origin', `HEAD:refs/heads/${branch}`])
  return repository.git('rev-parse', 'HEAD')
}
const deleteBranch = (branch: string) => repository.run(['push', '--quiet', 'origin', `:refs/heads/${branch}`])

const sourceNow = () => world.admin.get(fleetSource, { name: 'fleet', namespace: SYSTEM_NAMESPACE })
const previewsNow = async () => (await sourceNow())?.status?.previews ?? []
type Entry = NonNullable<NonNullable<FleetSource['status']>['previews']>[number]

async function untilPreview(branch: string, is: (entry: Entry) => boolean): Promise<Entry> {
  let found: Entry | undefined
  await world
    .until(`the preview of ${branch}`, async () => {
      found = (await previewsNow()).find((p) => p.branch === branch)
      return found !== undefined && is(found)
    })
    .catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify((await sourceNow())?.status)}`, { cause: error })
    })
  return found as Entry
}

const authorityIn = (file: string) => parseSafeKubeconfig(readFileSync(file, 'utf8'), 'preview').config.ca

const byName = (a: string, b: string): number => (a < b ? -1 : 1)
const clustersNow = async (): Promise<readonly Cluster[]> => (await world.admin.list(clusterKind)).items
const namesNow = async () => (await clustersNow()).map((c) => c.metadata.name ?? '').toSorted(byName)

async function settingsIn(name: string): Promise<unknown> {
  const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  const text = await world.host.kubeconfig(`${SYSTEM_NAMESPACE}.${name}`, identity)
  const client = new HttpKubeClient(parseSafeKubeconfig(text ?? '', 'preview').config)
  try {
    return (await client.get(CONFIG_MAP, { name: 'settings', namespace: 'default' }))?.['data']
  } finally {
    client.close()
  }
}

/** As the administrator of the hub types it: the code, and all that it prints. */
async function kubenode(...argv: readonly string[]): Promise<readonly [number, string]> {
  const { hub } = world
  const file = join(repository.folder, 'admin.kubeconfig')
  const said: string[] = []
  writeFileSync(
    file,
    kubeconfigText({ url: hub.url, authority: hub.ca, client: { certificate: hub.cert, key: hub.key }, user: 'admin' }),
    { mode: 0o600 },
  )
  const say = (text: string) => void said.push(text)
  const io = { out: say, err: say, cwd: repository.folder, env: {}, isTerminal: false }
  return [await run(['--kubeconfig', file, ...argv], io), said.join('')]
}

const isReadyAt = (commit: string) => (p: Entry) => p.phase === 'Ready' && p.commit === commit

test('a branch gets a cluster with its own objects, its next commit reaches that one alone, and nothing is left when it is deleted', async () => {
  await begin()
  stops.push(await startSync())
  await world.untilPhase('dev', 'Ready')
  await world.until('main is applied', async () => (await settingsIn('dev')) !== undefined)

  const first = pushBranch('preview/Feature_ONE', fleet('branch'))
  const { cluster = '' } = await untilPreview('preview/Feature_ONE', isReadyAt(first))
  expect(cluster).toMatch(/^pv-preview-feature-one-[0-9a-f]{10}$/)
  expect(await settingsIn(cluster)).toEqual({ version: 'branch' })
  expect(await settingsIn('dev')).toEqual({ version: '1' })
  expect((await world.get(cluster))?.spec).toMatchObject({ ttl: '4h', deletionPolicy: 'Delete', stage: 'dev' })

  const second = pushBranch('preview/Feature_ONE', fleet('branch moved'))
  // As a job of a pipeline does: it asks for the commit that it pushed.
  expect(await kubenode('preview', 'wait', 'preview/Feature_ONE', '--commit', second, '--timeout', '5m')).toEqual([
    0,
    expect.stringContaining(`preview/Feature_ONE is Ready on cluster/${cluster}: commit ${second.slice(0, 12)} "`),
  ])
  expect(await kubenode('preview', 'list')).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^BRANCH .*\npreview/Feature_ONE +\\S+ +Ready +${second.slice(0, 12)} +${cluster} +in `),
    ),
  ])
  const [, listed] = await kubenode('preview', 'list', '-o', 'json')
  expect(JSON.parse(listed)).toEqual([
    expect.objectContaining({
      branch: 'preview/Feature_ONE',
      phase: 'Ready',
      commit: second,
      cluster,
      source: 'fleet',
    }),
  ])
  expect(await kubenode('preview', 'wait', 'preview/Feature_ONE', '--commit', first, '--timeout', '1s')).toEqual([
    1,
    expect.stringContaining('not Ready after 1s'),
  ])
  expect(await settingsIn(cluster)).toEqual({ version: 'branch moved' })
  expect(await settingsIn('dev')).toEqual({ version: '1' })

  // A job does not wait half an hour for what only another commit can mend; the objects of the commit before stay.
  const broken = pushBranch('preview/Feature_ONE', fleet('broken', '', `throw new Error('a typo')\n`))
  expect(await kubenode('preview', 'wait', 'preview/Feature_ONE', '--commit', broken, '--timeout', '5m')).toEqual([
    1,
    expect.stringMatching(/preview\/Feature_ONE is Refused: KN7102: .*a typo/),
  ])
  expect(await settingsIn(cluster)).toEqual({ version: 'branch moved' })
  const third = pushBranch('preview/Feature_ONE', fleet('branch mended'))
  await untilPreview('preview/Feature_ONE', isReadyAt(third))
  expect(await settingsIn(cluster)).toEqual({ version: 'branch mended' })

  deleteBranch('preview/Feature_ONE')
  await world.untilGone(cluster)
  await world.until('the status forgets it', async () => (await previewsNow()).length === 0)
  expect(await namesNow()).toEqual(['dev'])
  expect(foldersIn(world)).toHaveLength(1)
  const secret = { name: `cluster-${cluster}`, namespace: CLUSTERS_NAMESPACE }
  expect(await world.admin.get(coreKind('Secret'), secret)).toBeUndefined()
})

test('a job takes a cluster for its commit, runs a program with its kubeconfig, and gives it back whatever the program does', async () => {
  await begin()
  await world.admin.patch(
    fleetSource,
    { name: 'fleet', namespace: SYSTEM_NAMESPACE },
    { type: 'merge', value: { spec: { previews: { mode: 'Commit' } } } },
  )
  stops.push(await startSync())
  await world.untilPhase('dev', 'Ready')
  repository.write(fleet('of the job'))
  repository.run([...repository.signedBy('ada'), 'commit', '-S', '--quiet', '--allow-empty', '-m', 'for the job'])
  const inClone = ['--repo', repository.work, '--timeout', '5m', '--'] as const

  const seen = join(repository.folder, 'seen')
  const program = `
    const { readFileSync, writeFileSync } = require('node:fs')
    writeFileSync(process.argv[1], readFileSync(process.env.KUBECONFIG, 'utf8'))
    process.exit(7)`
  const [code, said] = await kubenode(
    'preview',
    'run',
    'preview/ci-1',
    ...inClone,
    process.execPath,
    '-e',
    program,
    seen,
  )
  expect(said).toContain('preview/ci-1 is Ready on cluster/pv-preview-ci-1-')
  expect(said).toContain('preview/ci-1 is deleted; its cluster is deleted next')
  expect(code).toBe(7)
  const { server: reached } = parseSafeKubeconfig(readFileSync(seen, 'utf8'), 'preview').config
  expect([reached, world.hub.url]).toEqual([expect.stringMatching(/^https:/), expect.not.stringContaining(reached)])

  // At once, with the same commit: the cluster that was used is not used again, though the new one has its name.
  const again = join(repository.folder, 'again')
  const job = [process.execPath, '-e', program, again] as const
  const [nextCode, nextSaid] = await kubenode('preview', 'run', 'preview/ci-1', ...inClone, ...job)
  expect([nextCode, nextSaid]).toEqual([7, expect.stringContaining('of its earlier preview is not gone yet')])
  expect(authorityIn(again)).not.toEqual(authorityIn(seen))
  await world.until('its cluster is gone', async () => (await namesNow()).join(',') === 'dev')

  // A branch of another user is neither moved nor deleted.
  const theirs = pushBranch('preview/theirs', fleet('theirs'))
  const [refused, why] = await kubenode('preview', 'run', 'preview/theirs', ...inClone, 'true')
  expect([refused, why]).toEqual([2, expect.stringContaining('KN1386')])
  expect(repository.git('ls-remote', 'origin', 'refs/heads/preview/theirs')).toContain(theirs)
  const [missing, whyMissing] = await kubenode('preview', 'run', 'preview/ci-2', ...inClone, 'no-such-program')
  expect([missing, whyMissing]).toEqual([2, expect.stringContaining('KN1208')])
  expect(repository.git('ls-remote', 'origin', 'refs/heads/preview/ci-2')).toBe('')
})

test('a branch reaches neither the hub nor another cluster, and an unsigned one, one beyond the cap and one that is deleted at once get nothing', async (context) => {
  onlyInFull(context)
  await begin()
  stops.push(await startSync())
  await world.untilPhase('dev', 'Ready')
  const before = (await sourceNow())?.spec

  const hostile = fleet(
    'evil',
    `
new Cluster(hub, 'mine', { spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' } })
new ApiObject(hub, 'source', { apiVersion: 'kubenode.io/v1alpha1', kind: 'FleetSource', metadata: { name: 'fleet', namespace: '${SYSTEM_NAMESPACE}' }, spec: { url: 'https://evil.example.org/x.git', tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }] } })
new ApiObject(hub, 'power', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'power' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }, subjects: [{ kind: 'User', name: 'eve', apiGroup: 'rbac.authorization.k8s.io' }] })
`,
    `
new ApiObject(new ClusterChart(app, 'prod'), 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: 'evil' } })
`,
  )
  const commit = pushBranch('preview/hostile', hostile)
  const { ignored = [], cluster = '' } = await untilPreview('preview/hostile', isReadyAt(commit))
  expect(await settingsIn(cluster)).toEqual({ version: 'evil' })
  for (const part of ['ClusterRoleBinding', 'FleetSource', 'mine', 'prod: '])
    expect(ignored.some((line) => line.includes(part))).toBe(true)
  expect(await namesNow()).toEqual(['dev', cluster].toSorted(byName))
  expect(await world.admin.get(ROLE_BINDING, { name: 'power' })).toBeUndefined()
  expect((await sourceNow())?.spec).toEqual(before)
  expect(await settingsIn('dev')).toEqual({ version: '1' })

  pushBranch('preview/unsigned', fleet('unsigned'), NOBODY)
  pushBranch('preview/of-a-stranger', fleet('stranger'), 'eve')
  const refused = await untilPreview('preview/unsigned', (p) => p.phase === 'Refused')
  expect(await kubenode('preview', 'wait', 'preview/unsigned')).toEqual([1, expect.stringContaining('is Refused: KN')])
  expect(refused.message).toMatch(/^KN\d+/)
  expect(refused.cluster).toBeUndefined()
  await untilPreview('preview/of-a-stranger', (p) => p.phase === 'Refused')
  for (const branch of ['preview/unsigned', 'preview/of-a-stranger']) deleteBranch(branch)
  repository.run(['reset', '--quiet', '--hard', commit])

  pushBranch('preview/z1', fleet('z1'))
  pushBranch('preview/z2', fleet('z2'))
  await untilPreview('preview/z1', (p) => p.cluster !== undefined)
  const waiting = await untilPreview('preview/z2', (p) => p.phase === 'Waiting')
  expect(waiting.message).toContain('2 previews at most')
  expect(await namesNow()).toHaveLength(3)

  deleteBranch('preview/hostile')
  await untilPreview('preview/z2', (p) => p.cluster !== undefined)
  // While its cluster is being made.
  deleteBranch('preview/z2')
  deleteBranch('preview/z1')
  await world.until('nothing is left', async () => (await namesNow()).join(',') === 'dev')
  await world.until('the status forgets them', async () => (await previewsNow()).length === 0)
})

test('a preview that has ended is not made again for its branch, and a source that is deleted takes its previews with it', async (context) => {
  onlyInFull(context)
  await begin()
  stops.push(await startSync())
  await world.untilPhase('dev', 'Ready')
  const one = pushBranch('preview/one', fleet('one'))
  const two = pushBranch('preview/two', fleet('two'))
  const { cluster = '' } = await untilPreview('preview/one', isReadyAt(one))
  const other = await untilPreview('preview/two', isReadyAt(two))
  await world.remove(cluster)
  await world.untilGone(cluster)
  await untilPreview('preview/one', (p) => p.phase === 'Expired' && p.cluster === cluster)
  for (const stop of stops.splice(0)) await stop()
  stops.push(await startSync())
  const third = pushBranch('preview/one', fleet('one more'))
  await untilPreview('preview/one', (p) => p.phase === 'Expired' && p.commit === third)
  expect(await world.get(cluster)).toBeUndefined()
  await world.admin.delete(fleetSource, { name: 'fleet', namespace: SYSTEM_NAMESPACE })
  await world.untilGone(other.cluster ?? '')
})
