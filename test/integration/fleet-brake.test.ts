// The brake over all clusters, from policies and failures to the copy that each cluster's Defender obeys: turns for as many clusters as may change, and a version
// that failed in enough of them stopped everywhere, until a person lifts it.
import { afterEach, expect, test } from 'vitest'
import { BRAKE_NAME, fleetBrake } from '#api/kinds/fleet-brake.ts'
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { eventually, syncBench, whileTimePasses, type SyncBench } from '#test/support/benches/sync-bench.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const NAMES = ['c-1', 'c-2', 'c-3', 'c-4']

const SET = `new MachineComponentSet(chart, 'base', { spec: { selector: {}, components: [{ name: 'beacon', version: '1.0.0' }] } })`
const SETTINGS = `new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' } })`

const fleet = (limits: string, content: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart, MachineComponentSet, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'all', clusters: { names: ${JSON.stringify(NAMES)} }, maxConcurrency: 4, minSuccessTime: '0s' }] } })
new DefenderPolicy(hub, 'control-planes', { spec: { operations: ['ChangeControlPlane'], fleet: ${limits} } })
for (const name of ${JSON.stringify(NAMES)}) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: 'cluster-' + name, key: 'kubeconfig' } } })
  const chart = new ClusterChart(app, name)
  ${content}
}
app.synth()
`,
})

const brakeAt = async (b: SyncBench, name?: string) =>
  (await (name === undefined ? b.hub.client : b.client(name)).get(fleetBrake, { name: BRAKE_NAME }))?.spec

async function world(limits: string, content: string) {
  const b = await syncBench(NAMES)
  stops.push(() => b.close())
  return { b, first: b.repository.commit(fleet(limits, content)) }
}

const phases = async (b: SyncBench, commit: string) => {
  const found = (await b.releases()).find((r) => r.spec.commit === commit)
  return (found?.status?.clusters ?? []).map((c) => c.phase)
}
const AT_WORK = new Set(['Applying', 'Verifying'])

test('no more clusters change than the policy lets, each has its turn in its copy, and all get there', async () => {
  const { b, first } = await world('{ maxChanging: 1 }', SETTINGS)
  await b.start()
  let most = 0
  await eventually(
    async () => {
      const now = await phases(b, first)
      most = Math.max(most, now.filter((p) => AT_WORK.has(p)).length)
      expect((await brakeAt(b))?.turns?.length ?? 0).toBeLessThanOrEqual(1)
      return now
    },
    (now) => now.length > 0 && now.every((p) => p === 'Healthy'),
  )
  expect(most).toBe(1)
  await whileTimePasses(
    b,
    60_000,
    () => brakeAt(b),
    (spec) => spec?.maxChanging === 1 && spec.turns === undefined,
  )
  const copies = await Promise.all(NAMES.map((name) => brakeAt(b, name)))
  for (const [i, copy] of copies.entries())
    expect(copy).toMatchObject({ cluster: `${SYSTEM_NAMESPACE}/${NAMES[i]}`, maxChanging: 1 })
}, 300_000)

/** In place of the componentset controller: its revision failed. */
async function fail(b: SyncBench, name: string): Promise<void> {
  const client = b.client(name)
  const set = (await client.get(machineComponentSet, { name: 'base' })) as MachineComponentSet
  const revision = 'base-2'
  const blocked = [{ revision, component: 'beacon', since: timestamp(Date.now()), reason: 'exited with code 1' }]
  await client.apply(
    machineComponentSet,
    {
      apiVersion: set.apiVersion,
      kind: set.kind,
      metadata: { name: 'base' },
      status: { observedGeneration: set.metadata.generation, revisions: { update: revision, blocked } },
    } as never,
    { fieldManager: 'sets', force: true, subresource: 'status' },
  )
}

test('a version that failed in three clusters is stopped in all, no further one begins it, and a person lifts it', async () => {
  const { b } = await world('{ maxChanging: 10 }', SET)
  await b.start()
  const sets = () => Promise.all(NAMES.map((name) => b.client(name).get(machineComponentSet, { name: 'base' })))
  await eventually(sets, (all) => all.every((set) => set !== undefined))
  for (const name of NAMES.slice(0, 3)) await fail(b, name)
  const stop = { kind: 'Component', name: 'beacon', version: '1.0.0', count: 3 }
  await whileTimePasses(
    b,
    80_000,
    () => brakeAt(b),
    (spec) => spec?.stops?.[0]?.count === 3,
  )
  await eventually(
    () => brakeAt(b, 'c-4'),
    (copy) => copy?.stops?.[0]?.name === 'beacon',
  )
  expect((await brakeAt(b, 'c-4'))?.stops).toMatchObject([stop])

  await b.hub.client.create(operationalHold, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: 'lift' },
    spec: {
      target: { kind: 'FleetBrake', name: BRAKE_NAME },
      effect: 'Retry',
      reason: 'the cause is known',
      author: 'ada',
      until: timestamp(Date.now() + 7_200_000),
    },
  })
  await eventually(
    () => brakeAt(b, 'c-4'),
    (copy) => copy?.stops === undefined || copy.stops.length === 0,
  )
  expect((await brakeAt(b))?.stops).toMatchObject([{ ...stop, liftedAt: expect.any(String) }])
}, 300_000)
