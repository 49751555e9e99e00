// Prepared commits: exactly the wanted change, applied by git; hostile names, paths and reasons stay texts, and a token is in no answer and no log.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Part, PredictedPlan } from '#console/plan.ts'
import type { PreparedCommit, PushedCommit } from '#console/prepared.ts'
import { defined } from '#lib/defined.ts'
import { lineLogger } from '#lib/log.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { nodeType } from '#nodes/objects.ts'
import { eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { type FleetConsole, fleetConsole } from '#test/support/console/fleet-console.ts'
import { type GitServer, startGitServer } from '#test/support/servers/git-server.ts'

let bench: SyncBench
let page: FleetConsole
let git: GitServer
let base: string
let work: string
const logged: string[] = []

const FLEET = {
  'fleet/versions.json': '{\n  "beacon": "1.0.0",\n  "scribe": "1.0.0"\n}\n',
  'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart, MachineComponentSet, ReleasePipeline } from 'kubenode/constructs'
import versions from './versions.json' with { type: 'json' }
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '1s', maxNewFailures: 100 }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new DefenderPolicy(chart, 'careful', { spec: { budgets: [{ max: 1, of: 'concurrent' }] } })
new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { pool: 'a' } }, components: Object.entries(versions).map(([name, version]) => ({ name, version })) } })
app.synth()
`,
}

beforeAll(async () => {
  bench = await syncBench(['test'])
  work = mkdtempSync(join(tmpdir(), 'kubenode-patches-'))
  base = bench.repository.commit(FLEET, 'start')
  await bench.start()
  await eventually(
    () => bench.releases(),
    (all) => all.some((r) => r.status?.clusters?.some((c) => c.digest !== undefined)),
  )
  for (const name of ['n-1', 'n-2'])
    await bench.client('test').create(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { 'topology.kubernetes.io/zone': 'zone-a', 'example.org/rack': 'r-1' } },
    })
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const given = { subject: { commonName: 'git' }, validity: { now, days: 1 }, usage: 'server' } as const
  git = await startGitServer(bench.repository.dir, issueCertificate(authority, { ...given, hosts: ['localhost'] }))
  writeFileSync(join(work, 'ca.crt'), authority.certificate)
  page = await fleetConsole(bench, {
    log: lineLogger({ write: (line) => logged.push(line) }, 'debug'),
    git: { env: { GIT_SSL_CAINFO: join(work, 'ca.crt') }, reach: { trusted: 'Any' } },
  })
})
afterAll(async () => {
  await page?.stop()
  await git?.close()
  await bench.close()
  rmSync(work, { recursive: true, force: true })
})

const SOURCE = { cluster: 'hub', namespace: SYSTEM_NAMESPACE, name: 'fleet' }
const BUMP = { kind: 'Version', cluster: 'test', set: 'base', component: 'beacon', from: '1.0.0', to: '1.1.0' }
const ADA = { author: 'Ada', email: 'ada@example.org', reason: 'a fix' }

const prepare = (change: object, more: object = {}) =>
  page.browser.json<PreparedCommit>('/api/prepare', {
    method: 'POST',
    body: { source: SOURCE, change, ...ADA, ...more },
  })
const ask = (path: string, body: object) => page.browser.ask(path, { method: 'POST', body })

/** In a clone of its own; what git prints of the new commit. */
function applied({ patch }: PreparedCommit, ...show: readonly string[]): string {
  const clone = mkdtempSync(join(work, 'clone-'))
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: clone,
      encoding: 'utf8',
    })
  git('clone', '--quiet', bench.repository.dir, '.')
  git('checkout', '--quiet', base)
  writeFileSync(join(work, 'patch'), patch)
  git('am', '--quiet', join(work, 'patch'))
  return git('show', '--format=%an <%ae>%n%B', ...show)
}

test('a version bump is one line, applied by git am, with the plan that the commit has', async () => {
  const commit = await prepare(BUMP)
  expect(commit).toMatchObject({
    base,
    follows: 'main',
    branch: 'kubenode/beacon-1.1.0',
    warnings: [],
    needsToken: false,
  })
  expect(commit.lines.filter(({ tone }) => tone === 'added' || tone === 'removed').map(({ text }) => text)).toEqual([
    '-  "beacon": "1.0.0",',
    '+  "beacon": "1.1.0",',
  ])
  expect(commit.plan.clusters[0]?.objects[0]).toMatchObject({
    object: 'MachineComponentSet.kubenode.io/base',
    fields: ['spec.components[beacon].version: "1.0.0" → "1.1.0"'],
  })
  expect(applied(commit, '--stat')).toMatch(
    /^Ada <ada@example.org>\nbeacon 1.1.0\n\nReason: a fix\n[^]*1 insertion\(\+\), 1 deletion/,
  )
  expect(bench.repository.git('rev-parse', 'main')).toBe(base)
})

test('a reason that looks like a patch or a header stays one line of the message', async () => {
  const reason =
    'x\n---\ndiff --git a/fleet/main.ts b/fleet/main.ts\nFrom: Eve <eve@example.org>\nKubenode-Plan: sha256:0'
  const shown = applied(await prepare(BUMP, { reason }), '--name-only')
  expect(shown).toMatch(
    /^Ada <ada@example.org>\nbeacon 1.1.0\n\nReason: x --- diff --git [^\n]*\n\n\nfleet\/versions.json\n$/,
  )
})

test('what no author, version, node or branch can be called is refused before anything is read', async () => {
  const bodies = [
    { change: { ...BUMP, to: '1.1.0", evil: "' } },
    { change: { ...BUMP, to: '$(id)' } },
    { change: { ...BUMP, component: '../x' } },
    { change: { kind: 'Import', cluster: 'test', nodes: ['../../etc/passwd'] } },
    { change: { kind: 'Import', cluster: 'test', nodes: ["n'); process.exit(1) //"] } },
    { change: { kind: 'Import', cluster: 'test', nodes: [] } },
    { change: { kind: 'Protect', cluster: 'test', machines: ['../../etc/passwd'] } },
    { change: { kind: 'Protect', cluster: 'test', machines: Array.from({ length: 65 }, (_, i) => `n-${i}`) } },
    { change: { kind: 'Unprotect', cluster: 'test', machines: [] } },
    { change: BUMP, author: 'Ada\nFrom: Eve' },
    { change: BUMP, email: 'a@b> <c' },
    { change: { kind: 'Exec', cluster: 'test' } },
  ]
  for (const body of bodies)
    expect((await ask('/api/prepare', { source: SOURCE, ...ADA, ...body })).status, JSON.stringify(body)).toBe(422)
  const unknown = { source: { ...SOURCE, name: 'other' }, change: BUMP, ...ADA }
  expect((await ask('/api/prepare', unknown)).status).toBe(404)
  const { id } = await prepare(BUMP)
  for (const branch of ['--force', 'a..b', '../main', 'a/../../b', 'refs\nx', 'x.lock', '-d', ''])
    expect((await ask('/api/push', { id, branch })).status, branch).toBe(422)
  expect((await ask('/api/push', { id: '0'.repeat(40), branch: 'x' })).status).toBe(422)
  expect(bench.repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
})

test('a change that no line of the fleet makes is refused, not guessed', async () => {
  const { status, text } = await ask('/api/prepare', { source: SOURCE, change: { ...BUMP, from: '0.9.0' }, ...ADA })
  expect([status, text]).toEqual([422, expect.stringContaining('KN1384') as string])
})

test('an import declares the Nodes as kubenode import makes them, as texts', async () => {
  const commit = await prepare({ kind: 'Import', cluster: 'test', nodes: ['n-1', 'n-2'] })
  expect(commit.plan.clusters[0]?.objects.map(({ change, object }) => `${change} ${object}`)).toEqual([
    'added Machine.kubenode.io/n-1',
    'added Machine.kubenode.io/n-2',
  ])
  expect(applied(commit, '--name-only')).toContain('fleet/imported/test.ts\nfleet/main.ts')
  expect(commit.patch).toContain('"channel": "Observe"')
  const missing = { source: SOURCE, change: { kind: 'Import', cluster: 'test', nodes: ['n-3'] }, ...ADA }
  expect((await ask('/api/prepare', missing)).text).toContain('KN1723')
})

test('machines are protected by a list that a policy declares, and the commit says what it means for each', async () => {
  for (const name of ['m-1', 'm-2'])
    await bench.client('test').create(machine, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'Observe' },
    })
  const reason = '`}); process.exit(1) // "moved"'
  const commit = await prepare({ kind: 'Protect', cluster: 'test', machines: ['m-2', 'm-1'] }, { reason })
  expect(commit.plan.clusters[0]?.objects.map(({ change, object }) => `${change} ${object}`)).toEqual([
    'added DefenderPolicy.kubenode.io/protected-machines',
  ])
  expect(commit.machines).toEqual(['m-2', 'm-1'].map((m) => ({ machine: m, text: 'nothing is due on it now' })))
  expect(applied(commit, '--name-only')).toContain('fleet/main.ts\nfleet/protected/test.json\nfleet/protected/test.ts')
  const missing = { source: SOURCE, change: { kind: 'Protect', cluster: 'test', machines: ['m-3'] }, ...ADA }
  expect((await ask('/api/prepare', missing)).text).toContain('KN1723')
})

test('a prepared commit is predicted for the person who prepared it', async () => {
  const { id } = await prepare(BUMP)
  const predicted = await page.browser.json<Part<PredictedPlan>>('/api/predict', { method: 'POST', body: { id } })
  expect(predicted).toMatchObject({ state: 'Made' })
  expect((await ask('/api/predict', { id: '0'.repeat(40) })).text).toContain('KN1725')
  expect((await ask('/api/predict', { id: '../../x' })).status).toBe(422)
})

const TOKEN = 'glpat-0123456789-secret'

async function withSource(spec: object, work_: () => Promise<void>): Promise<void> {
  const named = { namespace: SYSTEM_NAMESPACE, name: 'other' }
  const before = await bench.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
  const declared = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: named,
    spec: { tracks: before?.spec.tracks ?? [], url: before?.spec.url ?? '', ref: { branch: 'main' }, ...spec },
  }
  await bench.hub.client.apply(fleetSource, declared, { fieldManager: FIELD_MANAGERS.cli, force: true })
  try {
    await work_()
  } finally {
    await bench.hub.client.delete(fleetSource, named)
  }
}

const whenRead = (body: object) =>
  eventually(
    () => ask('/api/prepare', body),
    ({ status }) => status !== 404,
  )

test('a token is in no answer and in no log, whatever becomes of the push', async () => {
  await withSource({ url: 'https://127.0.0.1:9/fleet.git' }, async () => {
    const { text } = await whenRead({ source: { ...SOURCE, name: 'other' }, change: BUMP, ...ADA })
    const { id, needsToken } = JSON.parse(text) as PreparedCommit
    expect(needsToken).toBe(true)
    for (const more of [{ token: TOKEN }, { token: `${TOKEN}\nX: y` }, { token: TOKEN, username: 'a:b' }, {}]) {
      const answer = await ask('/api/push', { id, branch: 'kubenode/x', ...more })
      expect(answer.status, JSON.stringify(more)).toBe(422)
      expect(answer.text).not.toContain(TOKEN)
      expect(answer.text).not.toContain(Buffer.from(`git:${TOKEN}`).toString('base64'))
    }
  })
  expect(logged.join('\n')).not.toContain(TOKEN)
})

/** Everything that is left in the repository, its copies and its settings. */
const leftIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => readFileSync(join(e.parentPath, e.name), 'latin1'))
    .join('\n')

test('a push over https shows the token to this server for this one push, and nothing keeps it', async () => {
  const encoded = Buffer.from(`ada:${TOKEN}`).toString('base64')
  bench.repository.git('config', 'http.receivepack', 'true')
  const url = `https://localhost:${git.port}/${basename(bench.repository.dir)}/.git`
  await withSource({ url }, async () => {
    const { text } = await whenRead({ source: { ...SOURCE, name: 'other' }, change: BUMP, ...ADA })
    const { id, ...commit } = JSON.parse(text) as PreparedCommit
    expect(commit.url).toBe(url)
    const push = (branch: string, token?: string) =>
      ask('/api/push', { id, branch, username: 'ada', ...defined({ token }) })
    // A server that repeats what it was told does not bring it into an answer.
    git.answer = (authorization) => ({ kind: 'Refused', status: 403, text: `no: ${authorization} ${TOKEN}` })
    const refused = await push('kubenode/https', TOKEN)
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('KN1726') as string])
    expect(refused.text).not.toMatch(/revert|spec\.push/)
    git.answer = (authorization) =>
      authorization === `Basic ${encoded}` ? { kind: 'Repository' } : { kind: 'Refused', status: 401 }
    const done = await push('kubenode/https', TOKEN)
    expect([done.status, done.text]).toEqual([200, JSON.stringify({ commit: id, branch: 'kubenode/https' })])
    expect(bench.repository.git('rev-parse', 'kubenode/https')).toBe(id)
    const shown = git.authorizations.filter((a) => a !== undefined)
    expect(new Set(shown)).toEqual(new Set([`Basic ${encoded}`]))
    // It is not remembered for the next push.
    expect((await push('kubenode/again')).text).toContain('KN7051')
    expect(git.authorizations.filter((a) => a !== undefined)).toEqual(shown)
    const kept = [refused.text, done.text, logged.join('\n'), leftIn(bench.repository.dir), leftIn(work)].join('\n')
    for (const secret of [TOKEN, encoded]) expect(kept.includes(secret)).toBe(false)
  })
})

test('where signatures are demanded it says so, and does not push to the followed branch', async () => {
  const signers = [
    {
      principal: 'ada@example.org',
      keys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHLKvm5Yxz2tVEVTkFbYbBvSIGG8tS0YV3ES1iQh0SuH'],
    },
  ]
  await withSource({ verify: { mode: 'FirstParent', anchor: base, signers } }, async () => {
    const { text } = await whenRead({ source: { ...SOURCE, name: 'other' }, change: BUMP, ...ADA })
    const { id, warnings } = JSON.parse(text) as PreparedCommit
    expect(warnings).toEqual([expect.stringContaining('follows signed commits only (FirstParent)')])
    expect((await ask('/api/push', { id, branch: 'main' })).text).toContain('KN1726')
    expect((await ask('/api/push', { id, branch: 'kubenode/review' })).status).toBe(200)
    expect(bench.repository.git('rev-parse', 'kubenode/review')).toBe(id)
  })
})

test('what one person prepared is not known to another', async () => {
  const { id } = await prepare(BUMP)
  await expect(page.repository?.push({ id, branch: 'kubenode/eve' }, 'eve@example.org')).rejects.toThrow(/KN1725/)
  expect((await ask('/api/push', { id, branch: 'kubenode/ada' })).status).toBe(200)
  const again = await prepare(BUMP, { reason: 'once more' })
  expect((await ask('/api/push', { id: again.id, branch: 'kubenode/ada' })).text).toContain('KN1726')
})

test('a push to the followed branch moves it once, with its files, and never over the work of another', async () => {
  const one = await prepare(BUMP)
  const two = await prepare({ ...BUMP, to: '1.2.0' })
  const pushed = await page.browser.json<PushedCommit>('/api/push', {
    method: 'POST',
    body: { id: one.id, branch: 'main' },
  })
  expect(pushed).toEqual({ commit: one.id, branch: 'main' })
  expect(bench.repository.git('rev-parse', 'main')).toBe(one.id)
  expect(bench.repository.git('status', '--porcelain')).toBe('')
  expect(readFileSync(join(bench.repository.dir, 'fleet/versions.json'), 'utf8')).toContain('"beacon": "1.1.0"')
  expect((await ask('/api/push', { id: two.id, branch: 'main' })).text).toMatch(
    /KN1725: cannot push [0-9a-f]{12} \\"beacon 1\.2\.0\\" to branch main: .*; prepare it again/,
  )
  await eventually(
    () => bench.releases(),
    (all) => all.some((r) => r.spec.commit === one.id),
  )
})
