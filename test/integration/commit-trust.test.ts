// A FleetSource that verifies commits, over a bare repository with commits that the real git signed with ssh keys: the good one is applied, others are
// refused by number, and what was applied before stays in force.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { fleetSource, type FleetSource, type FleetSourceInput } from '#api/kinds/fleet-source.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { whyLines } from '#explain/why.ts'
import { systemClock } from '#lib/system-clock.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

let bench: SyncBench | undefined
let repository: SignedRepository
beforeEach(() => {
  repository = new SignedRepository()
})
afterEach(async () => {
  await bench?.close()
  bench = undefined
  repository.remove()
})

const fleet = (version: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
import { version } from './version.ts'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version } })
app.synth()
`,
  ...versionFile(version),
})
const versionFile = (version: string) => ({ 'fleet/version.ts': `export const version: string = '${version}'\n` })

type Verify = NonNullable<FleetSourceInput['spec']['verify']>

async function follow(verify: (repository: SignedRepository, anchor: string) => Verify): Promise<SyncBench> {
  const anchor = repository.commit(fleet('1'), { key: undefined, message: 'before anybody signed' })
  const made = await syncBench(['test'], { url: repository.url, verify: verify(repository, anchor) })
  bench = made
  await made.start()
  await eventually(
    () => versionOf(made),
    (v) => v === '1',
  )
  return made
}

const everybody = (r: SignedRepository) => [
  { principal: 'ada@example.org', keys: [r.publicKey('ada')] },
  { principal: 'bob@example.org', keys: [r.publicKey('bob')] },
]

async function versionOf(b: SyncBench): Promise<unknown> {
  const found = await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' })
  return found?.['data']?.['version']
}

const sourceOf = async (b: SyncBench): Promise<FleetSource> => {
  const found = await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
  if (found === undefined) throw new Error('no source')
  return found
}
const conditionOf = (source: FleetSource, type: string) => source.status?.conditions?.find((c) => c.type === type)
const refusal = async (b: SyncBench, part: string) => {
  const found = await eventually(
    async () => conditionOf(await sourceOf(b), 'SourceVerified'),
    (c) => c?.status === 'False' && c.message.includes(part),
  )
  return found?.reason
}

async function change(b: SyncBench, edit: (verify: Verify) => Verify): Promise<void> {
  const { metadata, spec } = await sourceOf(b)
  const declared = {
    apiVersion: API_GROUP_VERSION,
    kind: 'FleetSource' as const,
    metadata: { name: metadata.name, namespace: metadata.namespace },
    spec: { ...spec, verify: edit(spec.verify as Verify) },
  }
  await b.hub.client.apply(fleetSource, declared as FleetSource, { fieldManager: FIELD_MANAGERS.cli })
}

test('a signed commit is applied; an unsigned one is refused, and what was applied stays; signed again it follows', async () => {
  const b = await follow((r, anchor) => ({ mode: 'FirstParent', anchor, signers: everybody(r) }))
  const good = repository.commit(versionFile('2'), { key: 'ada', message: 'version 2' })
  await eventually(
    () => versionOf(b),
    (v) => v === '2',
  )
  const { status } = await sourceOf(b)
  expect(status).toMatchObject({
    commit: good,
    subject: 'version 2',
    author: 'Ada',
    signer: `ada@example.org ${repository.fingerprint('ada')}`,
    verified: { commit: good, principal: 'ada@example.org', key: repository.fingerprint('ada'), commits: 1 },
  })
  expect((await b.releases()).find((r) => r.spec.commit === good)?.spec.signer).toBe(status?.signer)

  const bad = repository.commit(versionFile('3'), { key: undefined, message: 'words of a stranger' })
  expect(await refusal(b, bad.slice(0, 12))).toBe('UnverifiedCommit')
  const source = await sourceOf(b)
  expect(conditionOf(source, 'SourceVerified')?.message).toMatch(/^KN7030: .*it has no signature/)
  expect(conditionOf(source, 'Ready')).toMatchObject({ status: 'False', reason: 'UnverifiedCommit' })
  expect(source.status).toMatchObject({ commit: good, subject: 'version 2', verified: { commit: good } })
  // Nothing of a commit but its signature is read before it is judged.
  expect(JSON.stringify(source.status)).not.toContain('words of a stranger')
  expect(conditionOf(source, 'Fetched')?.message).toBe(`at commit ${bad.slice(0, 12)}`)
  expect(whyLines(source, systemClock.now()).join('\n')).toMatch(/KN7030: .*git commit --amend -S/)
  expect(await versionOf(b)).toBe('2')

  // A signed commit on top does not make the unsigned one good.
  repository.commit(versionFile('4'), { key: 'ada' })
  expect(await refusal(b, `commit ${bad.slice(0, 12)}: it has no signature`)).toBe('UnverifiedCommit')
  expect(await versionOf(b)).toBe('2')

  repository.git('reset', '--quiet', '--hard', good)
  repository.commit(versionFile('5'), { key: 'bob' })
  await eventually(
    () => versionOf(b),
    (v) => v === '5',
  )
  expect((await b.releases()).some((r) => r.spec.commit === bad)).toBe(false)
})

test('a signer who was removed, a revoked key and a key of no signer are refused; a signed revert is followed', async () => {
  const b = await follow((r, anchor) => ({ mode: 'All', anchor, signers: everybody(r) }))
  const second = repository.commit(versionFile('2'), { key: 'bob' })
  await eventually(
    () => versionOf(b),
    (v) => v === '2',
  )
  await change(b, (verify) => ({
    ...verify,
    signers: (verify.signers ?? []).filter((s) => s.principal !== 'bob@example.org'),
  }))
  repository.commit(versionFile('3'), { key: 'bob' })
  expect(await refusal(b, repository.fingerprint('bob'))).toBe('UnverifiedCommit')
  expect(conditionOf(await sourceOf(b), 'SourceVerified')?.message).toMatch(/^KN7032: /)
  expect(await versionOf(b)).toBe('2')
  repository.git('reset', '--quiet', '--hard', second)
  repository.git('-c', 'commit.gpgsign=true', 'revert', '--no-edit', second)
  repository.push(true)
  await eventually(
    () => versionOf(b),
    (v) => v === '1',
  )

  // Revoked for the time at which the commit in force was seen: it stays applied, and the source says so.
  const key = repository.fingerprint('ada')
  await change(b, (verify) => ({ ...verify, revoked: [{ key }] }))
  await eventually(
    async () => conditionOf(await sourceOf(b), 'SourceVerified')?.message ?? '',
    (m) => /^KN7034: .*revoked/.test(m),
  )
  expect(await versionOf(b)).toBe('1')
})

test('a branch without the last verified commit is HistoryRewritten, until the hub names another anchor', async () => {
  const b = await follow((r, anchor) => ({ mode: 'Head', anchor, signers: everybody(r) }))
  const first = repository.commit(versionFile('2'), { key: 'ada' })
  await eventually(
    () => versionOf(b),
    (v) => v === '2',
  )
  repository.git('reset', '--quiet', '--hard', `${first}~1`)
  const other = repository.commit(versionFile('3'), { key: 'ada' })
  expect(await refusal(b, first.slice(0, 12))).toBe('HistoryRewritten')
  expect(await versionOf(b)).toBe('2')
  await change(b, (verify) => ({ ...verify, anchor: other }))
  await eventually(
    () => versionOf(b),
    (v) => v === '3',
  )
})

test('a change that takes two people waits for the approval of another signer, and of no other user', async () => {
  const thresholds = [{ paths: ['fleet/version.ts'], count: 2 }]
  const b = await follow((r, anchor) => ({ mode: 'FirstParent', anchor, signers: everybody(r), thresholds }))
  const commit = repository.commit(versionFile('2'), { key: 'ada' })
  expect(await refusal(b, 'KN7037')).toBe('ApprovalsMissing')
  const source = await sourceOf(b)
  const [request] = requestsOf(source)
  expect(request?.text).toContain(commit.slice(0, 12))
  const approve = async (name: string) => {
    const wish = { reason: undefined, for: '1h' }
    const made = approvalOf(
      { object: source, digest: request?.digest ?? '' },
      { name, groups: [] },
      wish,
      systemClock.now(),
    )
    await b.hub.client.create(approval, made, { fieldManager: FIELD_MANAGERS.cli })
  }
  await approve('ada@example.org')
  await approve('eve@example.org')
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(await versionOf(b)).toBe('1')
  await approve('bob@example.org')
  await eventually(
    () => versionOf(b),
    (v) => v === '2',
  )
  await eventually(
    async () => (await sourceOf(b)).status?.refused,
    (r) => r === undefined,
  )
})
