// A commit that names the digest of its plan is followed when it renders to exactly that, and refused when something else came in between; a source may require one.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const MAIN = `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
import values from './values.json' with { type: 'json' }
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
new ApiObject(new ClusterChart(app, 'test'), 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: values })
app.synth()
`
const values = (data: object) => ({ 'fleet/values.json': JSON.stringify(data) })

test('the digest of kubenode plan, as a trailer: followed, refused once the fleet moved on, and required where the source says so', async () => {
  bench = await syncBench(['test'], { requirePlan: true })
  const b = bench
  const settings = async () =>
    (await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data']
  const becomes = (data: object) => eventually(settings, (seen) => JSON.stringify(seen) === JSON.stringify(data))
  const refusal = async (part: string) => {
    const found = await eventually(
      async () =>
        (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
          (c) => c.type === 'Rendered',
        ),
      (c) => c?.status === 'False' && c.message.includes(part),
    )
    return found?.reason
  }
  /** As a user plans edits that are not committed yet. */
  const planned = async (files: Readonly<Record<string, string>>): Promise<string> => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(b.repository.dir, name)), { recursive: true })
      writeFileSync(join(b.repository.dir, name), text)
    }
    let out = ''
    const io = { out: (text: string) => void (out += text), err: () => undefined, env: process.env, isTerminal: false }
    const args = ['plan', '--dirty', '-o', 'json', '--weak-cage', 'allow']
    expect(await run(args, { ...io, cwd: b.repository.dir })).toBe(0)
    return (JSON.parse(out) as { digest: string }).digest
  }
  // Nothing was followed before the first commit.
  b.repository.commit({ 'fleet/main.ts': MAIN, ...values({ a: '1' }) })
  await b.start()
  await becomes({ a: '1' })

  const digest = await planned(values({ a: '2' }))
  b.repository.commit(values({ a: '2' }), `two\n\nKubenode-Plan: ${digest}`)
  await becomes({ a: '2' })

  // The plan was made before another change was followed.
  const stale = await planned(values({ a: '2', b: '1' }))
  const between = await planned(values({ a: '3' }))
  b.repository.commit(values({ a: '3' }), `three\n\nKubenode-Plan: ${between}`)
  await becomes({ a: '3' })
  b.repository.commit(values({ a: '2', b: '1' }), `stale\n\nKubenode-Plan: ${stale}`)
  expect(await refusal('KN7060')).toBe('PlanExceeded')
  b.repository.git('reset', '--quiet', '--hard', 'HEAD~1')

  // More than was planned.
  const small = await planned(values({ a: '4' }))
  b.repository.commit(values({ a: '4', extra: '1' }), `more\n\nKubenode-Plan: ${small}`)
  expect(await refusal(small)).toBe('PlanExceeded')
  b.repository.git('reset', '--quiet', '--hard', 'HEAD~1')

  b.repository.commit(values({ a: '5' }), 'no plan')
  expect(await refusal('KN7060')).toBe('PlanExceeded')
  expect(await settings()).toEqual({ a: '3' })
  b.repository.git('reset', '--quiet', '--hard', 'HEAD~1')

  // What changes no object needs no plan.
  const note = b.repository.commit({ 'README.md': 'text' }, 'text')
  await eventually(
    () => b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }),
    (s) => s?.status?.rendered === note,
  )
})
