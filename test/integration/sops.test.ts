// A Secret that git has only encrypted reaches its cluster; one that was tampered with reaches nothing; and no value is in anything else that is kept or shown.
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from '#kube/client.ts'
import {
  CONFIG_MAP,
  eventually,
  SECRET,
  syncBench,
  type SyncBench,
  whileTimePasses,
} from '#test/support/benches/sync-bench.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { AGE_KEY, AGE_RECIPIENT, sopsObject, sopsText } from '#test/support/tools/sops-writer.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const VALUE = 'correct-horse-battery'
const NEXT = 'staple-of-tomorrow'
const document = (password: string, name = 'db') => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  type: 'Opaque',
  stringData: { password },
})

const fleet = (more = '') => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, EncryptedSecret, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new EncryptedSecret(chart, 'db', { file: 'fleet/secrets/db.sops.json' })
${more}
app.synth()
`,
})
const FILE = 'fleet/secrets/db.sops.json'
const DECRYPTION = { provider: 'sops', secretRef: { name: 'age' } } as const

const giveKey = (b: SyncBench, key: string) =>
  b.hub.client.apply(
    SECRET,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'age', namespace: CLUSTERS_NAMESPACE },
      data: { 'age.agekey': Buffer.from(`# a comment\n${key}\n`).toString('base64') },
    },
    { fieldManager: FIELD_MANAGERS.cli, force: true },
  )

const passwordOf = async (b: SyncBench): Promise<string | undefined> => {
  const found = await b.client('test').get(SECRET, { namespace: 'default', name: 'db' })
  const data = found?.['data']
  return data === undefined ? undefined : Buffer.from(data['password'] ?? '', 'base64').toString()
}
const rendered = async (b: SyncBench) =>
  (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
    (c) => c.type === 'Rendered',
  )

/** Everything that is stored beside the Secret itself. */
async function everythingElse(b: SyncBench): Promise<string> {
  const all = async (client: KubeClient) =>
    Promise.all(
      ([inventory, CONFIG_MAP, coreKind('Event')] as ResourceType[]).map((kind) => client.list(kind).catch(() => [])),
    )
  return JSON.stringify([
    await b.hub.client.list(fleetSource),
    await b.releases(),
    await all(b.hub.client),
    await all(b.client('test')),
  ])
}

async function plan(b: SyncBench, ...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => (out += t),
    err: (t: string) => (err += t),
    cwd: b.repository.dir,
    env: {},
    isTerminal: false,
  }
  const code = await run(['plan', '--weak-cage', 'allow', ...argv], io)
  return { code, text: out + err }
}

test('the value reaches the cluster and nothing else, a changed file keeps the last value, and the right key mends it', async () => {
  bench = await syncBench(['test'], { decryption: DECRYPTION })
  const b = bench
  await giveKey(b, AGE_KEY)
  b.repository.commit({ ...fleet(), [FILE]: sopsText(document(VALUE)) })
  await b.start()
  await eventually(
    () => passwordOf(b),
    (p) => p === VALUE,
  )

  const moved = sopsObject(document(NEXT)) as { metadata: { name: string } }
  moved.metadata.name = 'mine'
  b.repository.commit({ [FILE]: JSON.stringify(moved) })
  const refused = await eventually(
    () => rendered(b),
    (c) => c?.status === 'False',
  )
  expect(refused).toMatchObject({ reason: 'InvalidSpec' })
  expect(refused?.message).toMatch(/Secret\/default\/mine \(fleet\/main\.ts:9\): KN7133: .*does not match its MAC/)
  expect(await b.client('test').get(SECRET, { namespace: 'default', name: 'mine' })).toBeUndefined()

  b.repository.commit({ [FILE]: sopsText(document(NEXT)) })
  await eventually(
    () => passwordOf(b),
    (p) => p === NEXT,
  )
  const shown = await plan(b, '--base', 'HEAD~2')
  expect(shown.text).toMatch(/\*\*\* \([0-9a-f]{8}\)/)
  for (const text of [await everythingElse(b), shown.text])
    for (const value of [VALUE, NEXT, AGE_KEY])
      for (const form of [value, Buffer.from(value).toString('base64')]) expect(text).not.toContain(form)
})

test('a value that was changed or deleted in the cluster is put back, also once the key is gone from the hub', async () => {
  bench = await syncBench(['test'], { decryption: DECRYPTION })
  const b = bench
  await giveKey(b, AGE_KEY)
  b.repository.commit({ ...fleet(), [FILE]: sopsText(document(VALUE)) })
  await b.start()
  await eventually(
    () => passwordOf(b),
    (p) => p === VALUE,
  )
  const key = { namespace: 'default', name: 'db' }
  const putBack = () =>
    whileTimePasses(
      b,
      120_000,
      () => passwordOf(b),
      (p) => p === VALUE,
    )
  const edited = { data: { password: Buffer.from('edited').toString('base64') } }
  await b.client('test').patch(SECRET, key, { type: 'merge', value: edited })
  await putBack()
  await b.hub.client.delete(SECRET, { namespace: CLUSTERS_NAMESPACE, name: 'age' })
  await b.client('test').delete(SECRET, key)
  await putBack()
  const kept = await everythingElse(b)
  for (const form of [VALUE, Buffer.from(VALUE).toString('base64')]) expect(kept).not.toContain(form)
})

test('without the right key nothing is applied, and the status says which key is missing', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test'], { decryption: DECRYPTION })
  const b = bench
  b.repository.commit({ ...fleet(), [FILE]: sopsText(document(VALUE)) })
  await b.start()
  const missing = await eventually(
    () => rendered(b),
    (c) => c?.status === 'False',
  )
  expect(missing?.message).toMatch(/KN7134: .*Secret kubenode-clusters\/age does not exist/)
  await giveKey(b, 'AGE-SECRET-KEY-1920V5QL54DPPA3E3XDE9D2FF7873DXF2THNJXAN6PJTU6YK86WQQDMY29R')
  const wrong = await eventually(
    () => rendered(b),
    (c) => c?.message.includes('KN7133') === true,
  )
  expect(wrong?.message).toContain(`is encrypted for ${AGE_RECIPIENT.slice(0, 20)}`)
  expect(await passwordOf(b)).toBeUndefined()
  await giveKey(b, AGE_KEY)
  b.pass(180_000)
  await eventually(
    () => passwordOf(b),
    (p) => p === VALUE,
  )
})

test('a source without spec.decryption applies no encrypted value, also where code copies one', async () => {
  bench = await syncBench(['test'])
  const b = bench
  const copied = (sopsObject(document(VALUE)) as { stringData: { password: string } }).stringData.password
  const code = `new ApiObject(chart, 'copy', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'copy', namespace: 'default' }, data: { v: ${JSON.stringify(copied)} } })`
  b.repository.commit({ ...fleet(code), [FILE]: sopsText(document(VALUE)) })
  const { text } = await plan(b)
  expect(text).toMatch(/ConfigMap\/default\/copy \(fleet\/main\.ts:10\): KN7136/)
  await b.start()
  const refused = await eventually(
    () => rendered(b),
    (c) => c?.status === 'False',
  )
  expect(refused?.message).toMatch(/2 of \d+ objects are not used/)
  const source = await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
  expect(source?.status?.renderErrors?.join('\n')).toMatch(/KN7134[^]*|KN7136[^]*/)
  expect(await passwordOf(b)).toBeUndefined()
})

test('S8 a commit brings a Secret nowhere else than the file says, and with requirePlaces no file that does not say it', async () => {
  bench = await syncBench(['test'], { decryption: { ...DECRYPTION, requirePlaces: true } })
  const b = bench
  await giveKey(b, AGE_KEY)
  const placed = (places: string) => {
    const plain = document(VALUE)
    return { ...plain, stringData: { ...plain.stringData, 'kubenode.for': places } }
  }
  const refusedWith = (why: RegExp) =>
    eventually(
      async () => (await rendered(b))?.message ?? '',
      (m) => why.test(m),
    )
  b.repository.commit({ ...fleet(), [FILE]: sopsText(placed('prod-*/default/db\ntest/shop/db')) })
  await b.start()
  await refusedWith(/KN7138: .*is not for Secret default\/db of cluster test/)
  b.repository.commit({ [FILE]: sopsText(document(VALUE)) })
  await refusedWith(/KN7138: .*has no entry kubenode\.for/)
  expect(await passwordOf(b)).toBeUndefined()
  b.repository.commit({ [FILE]: sopsText(placed('prod-*/default/db\ntest/default/db')) })
  await eventually(
    () => passwordOf(b),
    (p) => p === VALUE,
  )
  const found = await b.client('test').get(SECRET, { namespace: 'default', name: 'db' })
  expect(Object.keys(found?.['data'] as object)).toEqual(['password'])
})
