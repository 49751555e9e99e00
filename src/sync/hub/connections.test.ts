// Which kubeconfig sync opens for a Cluster: the one installed for it, whatever the Cluster claims. And nothing remains of a deleted one.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { ANNOTATIONS, CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Connections, SECRET } from './connections.ts'

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })

const clusterNamed = (name: string, more: Partial<Cluster> = {}, namespace: string = SYSTEM_NAMESPACE): Cluster => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, namespace },
  spec: { kubeconfigSecretRef: { name: `cluster-${name}` }, deletionPolicy: 'Orphan' },
  ...more,
})
const pointingAt = (name: string): Pick<Cluster, 'spec'> => ({
  spec: { kubeconfigSecretRef: { name }, deletionPolicy: 'Orphan' },
})

async function hub(secrets: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1) })
  const client = fake.client({ actor: 'sync' })
  for (const [id, annotations] of Object.entries(secrets)) {
    const [namespace = '', name = ''] = id.split('/')
    const data = { kubeconfig: Buffer.from(kubeconfigOf(`https://${name}.example.org`)).toString('base64') }
    await client.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, annotations }, data })
  }
  const opened: string[] = []
  const closed: string[] = []
  const deleted = new Set<string>()
  const connect = ({ server, impersonate }: ConnectionConfig): KubeClient => {
    opened.push(server)
    const close = () => closed.push(impersonate === undefined ? server : `${server} as ${impersonate.user}`)
    return Object.assign(fake.client({ actor: 'sync' }), { close })
  }
  const connections = new Connections({ client, clock, connect }, (id) => !deleted.has(id))
  const replaceSecret = async (name: string, server: string): Promise<void> => {
    const data = { kubeconfig: Buffer.from(kubeconfigOf(server)).toString('base64') }
    await client.patch(SECRET, { namespace: CLUSTERS_NAMESPACE, name }, { type: 'merge', value: { data } })
  }
  return { connections, opened, closed, deleted, replaceSecret }
}

const PROD = `${CLUSTERS_NAMESPACE}/cluster-prod`
const open = async (
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
  cluster: Cluster,
): Promise<readonly string[]> => {
  const { connections, opened } = await hub(secrets)
  await connections.to(cluster, undefined)
  return opened
}

test('a Secret that is named after the Cluster is for it', async () => {
  expect(await open({ [PROD]: {} }, clusterNamed('prod'))).toEqual(['https://cluster-prod.example.org'])
})

test('a Secret of any name is for the Cluster that its annotation names', async () => {
  const annotations = { [ANNOTATIONS.cluster]: `${SYSTEM_NAMESPACE}/prod` }
  const secrets = { [`${CLUSTERS_NAMESPACE}/from-capi`]: annotations }
  expect(await open(secrets, clusterNamed('prod', pointingAt('from-capi')))).toEqual(['https://from-capi.example.org'])
})

test('S25 a Cluster does not open the kubeconfig of another', async () => {
  await expect(open({ [PROD]: {} }, clusterNamed('test', pointingAt('cluster-prod')))).rejects.toThrow(/KN3096/)
})

test('S25 a name does not count against the annotation', async () => {
  const secrets = { [PROD]: { [ANNOTATIONS.cluster]: `${SYSTEM_NAMESPACE}/other` } }
  await expect(open(secrets, clusterNamed('prod'))).rejects.toThrow(/KN3096/)
})

test('S25 a Cluster of that name in another namespace is another Cluster', async () => {
  const secrets = { 'shop/from-capi': { [ANNOTATIONS.cluster]: `${SYSTEM_NAMESPACE}/prod` } }
  await expect(open(secrets, clusterNamed('prod', pointingAt('from-capi'), 'shop'))).rejects.toThrow(/KN3096/)
})

test('S25 the status of a Cluster names no kubeconfig', async () => {
  const status = { kubeconfigSecret: { name: 'cluster-other' } }
  const secrets = {
    [PROD]: {},
    [`${CLUSTERS_NAMESPACE}/cluster-other`]: { [ANNOTATIONS.cluster]: `${SYSTEM_NAMESPACE}/prod` },
  }
  expect(await open(secrets, clusterNamed('prod', { status }))).toEqual(['https://cluster-prod.example.org'])
})

describe('a Cluster that was deleted', () => {
  const TEST = `${CLUSTERS_NAMESPACE}/cluster-test`
  const id = `${SYSTEM_NAMESPACE}/prod`

  test('has its connections closed, of sync and of each source, and those of no other', async () => {
    const { connections, opened, closed } = await hub({
      [PROD]: {},
      [TEST]: {},
      [`${CLUSTERS_NAMESPACE}/cluster-prod-2`]: {},
    })
    for (const name of ['prod', 'test', 'prod-2']) await connections.to(clusterNamed(name), undefined)
    await connections.to(clusterNamed('prod'), 'kubenode:source:shop')
    connections.forget(id)
    const server = 'https://cluster-prod.example.org'
    expect(closed.toSorted()).toEqual([server, server, `${server} as kubenode:source:shop`])
    opened.length = 0
    await connections.to(clusterNamed('test'), undefined)
    expect(opened).toEqual([])
  })

  test('is connected again when it is declared again, with its current kubeconfig', async () => {
    const { connections, opened } = await hub({ [PROD]: {} })
    await connections.to(clusterNamed('prod'), undefined)
    connections.forget(id)
    await connections.to(clusterNamed('prod'), undefined)
    expect(opened).toHaveLength(2)
  })

  test('opens no connection that nothing would close, when it is deleted while its Secret is read', async () => {
    const { connections, opened, deleted } = await hub({ [PROD]: {} })
    const connecting = connections.to(clusterNamed('prod'), undefined)
    deleted.add(id)
    connections.forget(id)
    await expect(connecting).rejects.toThrow('not found on the hub')
    expect(opened).toEqual([])
  })
})

describe('a Cluster that is another server now gets its connection at once, not after that to the old one', () => {
  const annotations = { [ANNOTATIONS.cluster]: `${SYSTEM_NAMESPACE}/prod` }
  const secrets = { [PROD]: {}, [`${CLUSTERS_NAMESPACE}/moved`]: annotations }
  const metadata = { name: 'prod', namespace: SYSTEM_NAMESPACE }

  test('because it names another Secret', async () => {
    const { connections, opened, closed } = await hub(secrets)
    await connections.to(clusterNamed('prod'), undefined)
    await connections.to(clusterNamed('prod', pointingAt('moved')), undefined)
    expect(opened).toEqual(['https://cluster-prod.example.org', 'https://moved.example.org'])
    expect(closed).toEqual(['https://cluster-prod.example.org'])
  })

  test('because it was deleted and made again, which its cache may show as one change', async () => {
    const { connections, opened, replaceSecret } = await hub(secrets)
    await connections.to(clusterNamed('prod', { metadata: { ...metadata, uid: 'u1' } }), undefined)
    await replaceSecret('cluster-prod', 'https://new.example.org')
    await connections.to(clusterNamed('prod', { metadata: { ...metadata, uid: 'u1' } }), undefined)
    expect(opened).toHaveLength(1)
    await connections.to(clusterNamed('prod', { metadata: { ...metadata, uid: 'u2' } }), undefined)
    expect(opened.at(-1)).toBe('https://new.example.org')
  })
})
