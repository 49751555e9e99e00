// A repository on this machine is read in place: while its folder is away, the objects in the clusters stay, and the source says which folder is missing.
import { renameSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const fleet = (version: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
app.synth()
`,
})

const versionIn = async (b: SyncBench): Promise<unknown> => {
  const found = await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' })
  return found?.['data']?.['version']
}
const readyOf = async (b: SyncBench) =>
  (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
    (c) => c.type === 'Ready',
  )

test('F17 while the folder is away, also over a restart of sync, all objects stay; once it is back, commits are followed again', async () => {
  const b = await syncBench(['test'])
  bench = b
  b.repository.commit(fleet('1'))
  const stop = await b.start()
  await eventually(
    () => versionIn(b),
    (v) => v === '1',
  )
  const away = `${b.repository.dir}-away`
  renameSync(b.repository.dir, away)
  try {
    const isMissed = (c: Awaited<ReturnType<typeof readyOf>>) => c?.status === 'False' && c.message.includes('KN1011')
    const said = await eventually(() => readyOf(b), isMissed)
    expect(said?.message).toContain(b.repository.dir)
    await stop()
    await b.start()
    await eventually(() => readyOf(b), isMissed)
    expect(await versionIn(b)).toBe('1')
  } finally {
    renameSync(away, b.repository.dir)
  }
  b.repository.commit(fleet('2'))
  await eventually(
    () => versionIn(b),
    (v) => v === '2',
  )
  expect(await readyOf(b)).toMatchObject({ status: 'True' })
})
