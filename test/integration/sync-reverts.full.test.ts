// onFailure: Revert, with real git and real signatures: sync reverts a failed commit, once, to the branch that the pipeline names, and follows its own commit like any other.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FleetSourceInput } from '#api/kinds/fleet-source.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { storyLines } from '#explain/finding.ts'
import { releaseStory } from '#explain/release/status.ts'
import { systemClock } from '#lib/system-clock.ts'
import { CONFIG_MAP, eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

let bench: SyncBench | undefined
let repository: SignedRepository
beforeEach(() => {
  repository = new SignedRepository(['ada', 'sync'])
})
afterEach(async () => {
  await bench?.close()
  bench = undefined
  repository.remove()
})

/** The version `bad` has a set of machines that no provider creates: it never becomes healthy. */
const fleet = (version: string, pipeline: object) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet, ReleasePipeline } from 'kubenode/constructs'
import { version } from './version.ts'
import pipeline from './pipeline.ts'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = (name: string) => ({ name, clusters: { names: [name] }, minSuccessTime: name === 'test' ? '1h' : '0s', progressDeadline: '10m', offlineDeadline: '4h' })
new ReleasePipeline(hub, 'standard', { spec: { stages: ['test'].map(stage), ...pipeline } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version } })
if (version === 'bad') new MachineSet(chart, 'workers', { spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } } } })
app.synth()
`,
  ...versionFile(version),
  ...pipelineFile(pipeline),
})
const versionFile = (version: string) => ({ 'fleet/version.ts': `export const version: string = '${version}'\n` })
const pipelineFile = (pipeline: object) => ({
  'fleet/pipeline.ts': `export default ${JSON.stringify(pipeline)} as const\n`,
})

const REVERT = (to: string) => ({ onFailure: 'Revert', revert: { to } })
const HOURS_MS = 2 * 3_600_000

async function start(spec: Partial<FleetSourceInput['spec']>): Promise<SyncBench> {
  const made = await syncBench(['test'], { url: repository.url, push: { secretRef: { name: 'push' } }, ...spec })
  bench = made
  const key = readFileSync(join(repository.folder, 'sync')).toString('base64')
  await made.hub.client.apply(
    SECRET,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'push', namespace: CLUSTERS_NAMESPACE },
      data: { 'signing-key': key },
    },
    { fieldManager: FIELD_MANAGERS.cli, force: true },
  )
  await made.start()
  return made
}

async function versionOf(b: SyncBench): Promise<unknown> {
  const found = await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' })
  return found?.['data']?.['version']
}
const releaseOf = async (b: SyncBench, commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)

async function succeeded(b: SyncBench, commit: string): Promise<void> {
  await eventually(
    () => releaseOf(b, commit),
    (r) => r?.status?.stages?.[0]?.phase === 'Soaking',
  )
  b.pass(HOURS_MS)
  await eventually(
    () => releaseOf(b, commit),
    (r) => r?.status?.phase === 'Succeeded',
  )
}

async function failed(b: SyncBench, commit: string) {
  await eventually(
    () => releaseOf(b, commit),
    (r) => r?.status?.clusters?.[0]?.waitingFor?.predicate === 'Progressing',
  )
  b.pass(HOURS_MS)
}

test('Direct: the failed commit is reverted on the branch, followed without a soak, and remembered when it comes again', async () => {
  const anchor = repository.commit(fleet('1', REVERT('Direct')), { key: undefined })
  const signers = [
    { principal: 'ada@example.org', keys: [repository.publicKey('ada')] },
    { principal: 'sync@example.org', keys: [repository.publicKey('sync')], sync: true },
  ]
  const b = await start({ verify: { mode: 'FirstParent', anchor, signers } })
  await succeeded(b, anchor)
  // The commit that fails asks for something else: what counts is what was asked for before.
  const bad = repository.commit(
    { ...versionFile('bad'), ...pipelineFile({ onFailure: 'Pause' }) },
    { key: 'ada', message: 'beacon 2' },
  )
  await failed(b, bad)
  const reverted = await eventually(
    () => releaseOf(b, bad),
    (r) => r?.status?.phase === 'Reverted',
  )
  const head = repository.inBare(['rev-parse', 'main'])
  expect(reverted?.status).toMatchObject({ revertCommit: head, revert: { branch: 'main', restores: anchor } })
  const message = repository.inBare(['log', '-1', '--format=%B', 'main'])
  expect(message).toMatch(/^Revert "beacon 2"\n\nThis reverts commit [0-9a-f]{40}\.\n\nRelease kubenode-system\/fleet-/)
  expect(message).toMatch(/cluster test: .*workers/)
  expect(message).not.toMatch(/PRIVATE KEY/)
  expect(repository.inBare(['rev-parse', 'main^{tree}'])).toBe(repository.inBare(['rev-parse', `${anchor}^{tree}`]))
  // No hour of soak: the clock is not moved here.
  const back = await eventually(
    () => releaseOf(b, head),
    (r) => r?.status?.phase === 'Succeeded',
  )
  expect(back?.spec).toMatchObject({
    revertOf: bad,
    after: bad,
    signer: expect.stringContaining('sync@example.org') as unknown,
  })
  expect(await versionOf(b)).toBe('1')

  // The same objects again wait for a retry.
  repository.git('pull', '--quiet', '--rebase', 'origin', 'main')
  repository.commit(versionFile('bad'), { key: 'ada', message: 'once more' })
  const waits = await eventually(
    () => b.releases(),
    (all) => all.some((r) => r.status?.waitingFor?.predicate === 'RevertedBefore'),
  )
  const waiting = waits.find((r) => r.status?.waitingFor?.predicate === 'RevertedBefore')
  expect(waiting?.status?.waitingFor?.unblock).toBe(
    `run git revert --no-edit ${waiting?.spec.commit.slice(0, 12) ?? ''} && git push; to retry, kubenode release retry ${waiting?.metadata.name ?? ''} --reason WHY`,
  )
  expect(await versionOf(b)).toBe('1')
})

test('Direct: what the server refuses is written again once it does not, as the same commit', async () => {
  const first = repository.commit(fleet('1', REVERT('Direct')), { key: undefined })
  const b = await start({})
  await succeeded(b, first)
  const bad = repository.commit(versionFile('bad'), { key: undefined, message: 'beacon 2' })
  const lock = join(repository.inBare(['rev-parse', '--absolute-git-dir']), 'refs/heads/main.lock')
  writeFileSync(lock, '')
  await failed(b, bad)
  const refused = await eventually(
    () => releaseOf(b, bad),
    (r) => r?.status?.revert?.problem !== undefined,
  )
  expect(refused?.status?.revert?.problem).toMatch(/^KN7051: .*rejected/)
  expect(
    storyLines(releaseStory(refused as NonNullable<typeof refused>, { now: systemClock.now() })).join('\n'),
  ).toMatch(/not reverted: KN7051.*\n {2}\d+ attempts?, the next one (?:on .+ )?at \d/)
  rmSync(lock)
  b.pass(600_000)
  const reverted = await eventually(
    () => releaseOf(b, bad),
    (r) => r?.status?.phase === 'Reverted',
  )
  const head = repository.inBare(['rev-parse', 'main'])
  expect(reverted?.status?.revertCommit).toBe(head)
  expect(refused?.status?.revert?.problem).toContain(head.slice(0, 12))
  await eventually(
    () => releaseOf(b, head),
    (r) => r?.status?.phase === 'Succeeded',
  )
})

test('Branch: the commit waits for review; what failed goes no further, and a second failure does not return to the first', async () => {
  const first = repository.commit(fleet('1', REVERT('Branch')), { key: undefined })
  const b = await start({})
  await succeeded(b, first)
  const bad = repository.commit(versionFile('bad'), { key: 'ada', message: 'beacon 2\u202e' })
  await failed(b, bad)
  const paused = await eventually(
    () => releaseOf(b, bad),
    (r) => r?.status?.revertCommit !== undefined,
  )
  const branch = `revert/${bad.slice(0, 12)}`
  expect(paused?.status).toMatchObject({ phase: 'Paused', revert: { branch, restores: first } })
  expect(repository.inBare(['rev-parse', branch])).toBe(paused?.status?.revertCommit)
  expect(repository.inBare(['rev-parse', 'main'])).toBe(bad)
  expect(storyLines(releaseStory(paused ?? fail(), { now: systemClock.now() })).join('\n')).toContain(
    `revert: on branch ${branch}`,
  )

  const file = join(repository.folder, 'hub.kubeconfig')
  writeFileSync(file, b.hub.server.adminKubeconfig(), { mode: 0o600 })
  let out = ''
  const io = { out: (text: string) => void (out += text), err: () => undefined, env: {}, isTerminal: false, cwd: '/' }
  expect(await run(['trace', bad.slice(0, 10), '--kubeconfig', file], io)).toBe(0)
  expect(out).toContain(`commit ${bad}, after ${first.slice(0, 12)}`)
  expect(out).toMatch(/ {2}reverted by [0-9a-f]{12}, by sync on branch revert\/[0-9a-f]{12}, which is not followed yet/)
  // The subject had a character that turns the reading direction.
  expect(repository.inBare(['log', '-1', '--format=%s', branch])).toBe('Revert "beacon 2\ufffd"')

  // A later commit fails, too: the release before it did not succeed, so there is nothing to go back to.
  const worse = repository.commit(
    { 'fleet/main.ts': fleet('1', {})['fleet/main.ts'].replace('data: { version }', `data: { version, more: '1' }`) },
    { key: 'ada' },
  )
  await failed(b, worse)
  const stuck = await eventually(
    () => releaseOf(b, worse),
    (r) => r?.status?.revert?.problem !== undefined,
  )
  expect(stuck?.status?.revert?.problem).toMatch(/^fleet-[0-9a-f]+, the release before, did not succeed$/)
  expect(stuck?.status?.revertCommit).toBeUndefined()
})

const fail = (): never => {
  throw new Error('no release')
}
