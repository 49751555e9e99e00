// A version of real embedded control planes on its way through the stages: test first, an approval before prod, a preflight that fails there, and a revert.
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { eventually, syncBench } from '#test/support/benches/sync-bench.ts'
import { hostedPlanes } from '#test/support/worlds/hosted-planes.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const [BUDGETS, PODS] = [coreKind('PodDisruptionBudget'), coreKind('Pod')]

const fleet = (version: string, more = '') => ({
  'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const of = (stage: string) => ({ clusters: { selector: { matchLabels: { 'kubenode.io/stage': stage } } }, minSuccessTime: '0s' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [
  { name: 'test', ...of('test'), withoutApproval: ['Versions'] },
  { name: 'prod', ...of('prod'), before: [{ name: 'board', approval: { from: ['ada'] } }] },
] } })
for (const name of ['test', 'prod'])
  new Cluster(hub, name, { spec: { stage: name, version: '${version}', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete'${more} } })
app.synth()
`,
})

async function world() {
  const b = await syncBench([])
  stops.push(() => b.close())
  const planes = await hostedPlanes(b.hub.client)
  stops.unshift(() => planes.close())
  const planeOf = (name: string) => b.hub.client.get(cluster, { namespace: SYSTEM_NAMESPACE, name })
  const releaseOf = async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
  return {
    b,
    planes,
    planeOf,
    releaseOf,
    running: async () =>
      Promise.all(['test', 'prod'].map(async (name) => (await planeOf(name))?.status?.versions?.[0]?.version)),
    approve: async (commit: string) => {
      await eventually(
        async () => (await releaseOf(commit))?.status?.waitingFor?.seen,
        (seen) => seen?.startsWith('board: approved by 0 of 1') === true,
      )
      const object = await releaseOf(commit)
      if (object === undefined) throw new Error('no release')
      const [request] = requestsOf(object)
      const wish = { reason: 'read', for: '1h' }
      const made = approvalOf({ object, digest: request?.digest ?? '' }, { name: 'ada', groups: [] }, wish, Date.now())
      await b.hub.client.create(approval, made)
    },
  }
}

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'cart' } },
  spec: { containers: [{ name: 'c', image: 'example.org/c:1' }] },
})

test('it passes test, waits for its approval, is stopped by a budget in prod before anything changes, goes on without it, and comes back by a revert', async () => {
  const w = await world()
  const { b, planes, planeOf, releaseOf, running, approve } = w
  const first = b.repository.commit(fleet('1.35.1'))
  await b.start()
  await approve(first)
  await eventually(running, (versions) => versions.join() === '1.35.1,1.35.1')
  await eventually(
    async () => (await releaseOf(first))?.status?.phase,
    (phase) => phase === 'Succeeded',
  )

  const prod = await planes.admin('prod')
  await prod.create(PODS, pod('cart-0'))
  await prod.create(BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'cart', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'cart' } } },
  })

  const up = b.repository.commit(fleet('1.36.0'))
  await eventually(running, ([test]) => test === '1.36.0')
  expect(await running()).toEqual(['1.36.0', '1.35.1'])
  expect((await planeOf('prod'))?.spec.version).toBe('1.35.1')
  await approve(up)

  const refused = await eventually(
    () => planeOf('prod'),
    (c) => c?.status?.waitingFor?.predicate === 'UpgradeRefused',
  )
  expect(refused?.status?.waitingFor?.seen).toBe('PodDisruptionBudgets let no pod go: default/cart')
  expect(refused?.status).toMatchObject({ phase: 'Ready', versions: [{ version: '1.35.1' }] })
  const asked = (await b.hub.client.list(operationPermit)).items.filter((p) => p.spec.targets[0]?.name === 'prod')
  expect(asked).toEqual([])
  expect(refused?.status?.snapshots ?? []).toEqual([])
  b.pass(90_000)
  const failed = await eventually(
    () => releaseOf(up),
    (r) => r?.status?.clusters?.find((c) => c.name === 'prod')?.phase === 'Failed',
  )
  expect(failed?.status?.clusters?.find((c) => c.name === 'prod')?.message).toContain('default/cart')

  // Without the budget the upgrade starts by itself.
  await prod.delete(BUDGETS, { namespace: 'default', name: 'cart' })
  await eventually(running, ([, version]) => version === '1.36.0')

  const back = b.repository.commit(fleet('1.35.1'), `Revert "change"\n\nThis reverts commit ${up}.`)
  await eventually(running, ([test]) => test === '1.35.1')
  await approve(back)
  await eventually(running, (versions) => versions.join() === '1.35.1,1.35.1')
  await eventually(
    async () => (await releaseOf(back))?.status?.phase,
    (phase) => phase === 'Succeeded',
  )
}, 300_000)

test('a commit that only takes something out of a Cluster is applied in its turn, and is not blamed for what the commit before asked', async () => {
  const { b, planeOf, releaseOf, running, approve } = await world()
  const ofTest = async (commit: string) =>
    (await releaseOf(commit))?.status?.clusters?.find((c) => c.name === 'test')?.phase
  const first = b.repository.commit(fleet('1.36.0'))
  await b.start()
  await approve(first)
  await eventually(running, (versions) => versions.join() === '1.36.0,1.36.0')

  const wrong = b.repository.commit(fleet('1.35.1', ", addons: [{ name: 'coredns', version: '1.9.0' }]"))
  await eventually(
    async () => (await planeOf('test'))?.status?.waitingFor?.predicate,
    (predicate) => predicate === 'InvalidSpec',
  )
  b.pass(90_000)
  await eventually(
    () => ofTest(wrong),
    (phase) => phase === 'Failed',
  )

  const mended = b.repository.commit(fleet('1.35.1'))
  const phases = new Set<string | undefined>()
  await eventually(
    async () => phases.add(await ofTest(mended)),
    (seen) => seen.has('Failed') || seen.has('Healthy'),
  )
  expect([...phases]).not.toContain('Failed')
  expect((await planeOf('test'))?.spec.addons).toBeUndefined()
}, 300_000)
