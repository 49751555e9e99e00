// A held source on real servers: it follows a revert that its pipeline exempts from the hold, and the Inventory in the cluster says while recoveries are exempt from budgets.
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { holdOn } from '#test/support/fleets/holds.ts'

const EVENT: ResourceType = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

let bench: SyncBench | undefined
afterEach(() => bench?.close())

const fleet = (version: string, exempt: readonly string[]) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: {
  stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }],
  revert: { exempt: ${JSON.stringify(exempt)} },
} })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: ${JSON.stringify({ version })} })
app.synth()
`,
})
const reverts = (id: string) => `Revert "change"\n\nThis reverts commit ${id}.`

const EFFECTS = [
  ['a Pause', 'Pause', ['Holds', 'Budgets']],
  ['a Freeze', 'Freeze', ['Freezes']],
] as const
test.each(inFullAll(EFFECTS, 2))(
  'under %s the exempt revert is followed, and the next commit once it ends',
  async (_, effect, exempt) => {
    bench = await syncBench(['test'])
    const b = bench
    const version = async () =>
      (
        (await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as
          | { readonly version?: string }
          | undefined
      )?.version
    const source = () => b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
    const succeeded = (commit: string) =>
      eventually(
        async () => (await b.releases()).find((r) => r.spec.commit === commit),
        (r) => r?.status?.phase === 'Succeeded',
      )
    /** Of the marks that were ever in an Inventory, in order. */
    const marks: string[] = []
    const marked = async () => {
      const { items } = await b.client('test').list(inventory)
      const mark = items.map((i) => i.spec.exemptRecoveries?.join() ?? '-').join()
      if (marks.at(-1) !== mark) marks.push(mark)
    }

    const good = b.repository.commit(fleet('1', exempt))
    await b.start()
    // Not when its objects are there: a Release that is superseded before its end was never seen healthy, and a revert to it is an ordinary change.
    await succeeded(good)
    const bad = b.repository.commit(fleet('2', exempt))
    await succeeded(bad)
    const hold = holdOn('FleetSource', 'fleet', {
      effect,
      target: { kind: 'FleetSource', name: 'fleet', namespace: SYSTEM_NAMESPACE },
    })
    await b.hub.client.create(operationalHold, { ...hold, metadata: { name: 'h' } })
    await eventually(source, (s) => s?.status?.conditions?.find((c) => c.type === 'Paused')?.status === 'True')

    await marked()
    const back = b.repository.commit(fleet('1', exempt), reverts(bad))
    await eventually(
      async () => {
        await marked()
        return version()
      },
      (v) => v === '1',
    )
    await eventually(
      async () => {
        await marked()
        return (await b.releases()).find((r) => r.spec.commit === back)
      },
      (r) => r?.status?.phase === 'Succeeded',
    )
    expect(await source()).toMatchObject({ status: { commit: back, rendered: back } })
    // The pass that compares the finished Release with the cluster takes the mark back.
    b.pass(120_000)
    await eventually(
      async () => {
        await marked()
        return marks.at(-1)
      },
      (mark) => mark === '-',
    )
    expect(marks).toEqual(effect === 'Pause' ? ['-', 'Budget', '-'] : ['-'])

    // Both say that a hold was passed, whose it is, and why.
    const paused = async (
      of: { readonly status?: { readonly conditions?: readonly { readonly type: string }[] } } | undefined,
    ) => of?.status?.conditions?.find((c) => c.type === 'Paused')
    const done = (await b.releases()).find((r) => r.spec.commit === back)
    expect(await paused(done)).toMatchObject({
      status: 'False',
      reason: 'ExemptRevert',
      message: expect.stringContaining(`${hold.spec.author} holds it until`),
    })
    expect(await paused(await source())).toMatchObject({
      status: 'True',
      reason: 'ExemptRevert',
      message: expect.stringMatching(new RegExp(`commit ${back.slice(0, 12)} .*is followed`)),
    })

    // Its work is done, and the hold binds again: what a person changes now stays until the hold ends, and is reported.
    await b
      .client('test')
      .patch(
        CONFIG_MAP,
        { namespace: 'default', name: 'settings' },
        { type: 'merge', value: { data: { version: 'by hand' } } },
      )
    b.pass(120_000)
    await eventually(
      async () => (await b.hub.client.list(EVENT, { namespace: SYSTEM_NAMESPACE })).items,
      (events) => events.some((e) => JSON.stringify(e).includes('it is corrected when the hold ends')),
    )
    expect(await version()).toBe('by hand')

    // An ordinary commit waits until the hold is deleted.
    const next = b.repository.commit(fleet('3', exempt))
    b.pass(5_000)
    await b.hub.client.delete(operationalHold, { name: 'h' })
    await succeeded(next)
    expect(await version()).toBe('3')
  },
)
