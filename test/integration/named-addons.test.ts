// Addons that a Cluster names: applied before it is Ready, kept as declared, tested on both sides of an upgrade, named when they fail, and removed when they are
// named no longer.
import { afterEach, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { makeRecipe } from '#api/constructs/addons/make-recipe.ts'
import { ADDONS } from '#api/constructs/addons/table.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { typeOf } from '#kube/installed-type.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { type ClusterWorld, clusterWorld } from '#test/support/worlds/cluster-world.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const { kinds, rest } = manifests()
const typeIn = (apiVersion: string, kind: string) =>
  typeOf({ apiVersion, kind, metadata: { name: 'x', namespace: 'x' } })
const deployments = typeIn('apps/v1', 'Deployment')
const services = typeIn('v1', 'Service')
const configMaps = typeIn('v1', 'ConfigMap')
const values = { image: `example.test/addon@sha256:${'a'.repeat(64)}` }
const addon = (name: string, version: string) => ({ name, version, values })
const DNS = { namespace: 'kube-system', name: 'coredns' }

async function within<T>(w: ClusterWorld, work: (client: HttpKubeClient) => Promise<T>): Promise<T> {
  const identity = { user: 'admin', groups: ['system:masters'], lifeMs: 3_600_000 }
  const text = await w.host.kubeconfig(`${SYSTEM_NAMESPACE}.one`, identity)
  const client = new HttpKubeClient(parseSafeKubeconfig(text ?? '', 'one').config)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

async function seen(w: ClusterWorld, what: string, holds: (cluster: Cluster) => boolean): Promise<Cluster> {
  let last: Cluster | undefined
  await w
    .until(what, async () => (last = await w.get('one')) !== undefined && holds(last))
    .catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(last?.status)}`)
    })
  if (last === undefined) throw new Error('unreachable')
  return last
}

const versionOf = ({ status }: Cluster, name: string) => status?.addons?.find((a) => a.name === name)?.version

test('are there when it is Ready, come back when a person deletes them, are tested on both sides of an upgrade, and go with their name', async () => {
  // With the policies in force, which the program of clusters must pass.
  const w = (world = await clusterWorld({ addons: async () => addonsOf('1', kinds, rest) }))
  await w.declare('one', { version: '1.34.2', addons: [addon('coredns', '1.11.4'), addon('dashboard', '0.30.1')] })
  const ready = await w.untilPhase('one', 'Ready')
  expect(ready.status?.addons).toMatchObject([
    { name: 'kubenode', healthy: 'True' },
    // No node runs a pod yet, and that blocks nothing.
    {
      name: 'coredns',
      version: '1.11.4',
      healthy: 'Unknown',
      message: expect.stringMatching(/coredns.*no controllers/),
    },
    { name: 'dashboard', version: '0.30.1', healthy: 'Unknown' },
  ])
  await within(w, async (client) => {
    expect(await client.get(deployments, DNS)).toBeDefined()
    const service = await client.get(services, { namespace: 'kube-system', name: 'kube-dns' })
    expect(service).toMatchObject({ spec: { clusterIP: '10.96.0.10' } })
    expect((await client.list(inventory)).items.map((i) => i.spec.source)).toEqual([
      'kubenode',
      'kubenode-clusters/addons',
    ])
    await client.delete(deployments, DNS)
    await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'kubenode-dashboard', name: 'of-a-person' },
    })
  })
  await w.stopController()
  await w.startController()
  await w.until('it is applied again', async () =>
    within(w, async (c) => {
      const found = await c.get(deployments, DNS)
      return found !== undefined && found.metadata.deletionTimestamp === undefined
    }),
  )

  await w.declare('one', { version: '1.35.2', addons: [addon('coredns', '1.11.4')] })
  const refused = await seen(w, 'the upgrade is refused', (c) => c.status?.waitingFor?.predicate === 'UpgradeRefused')
  expect(refused.status?.waitingFor?.seen).toBe('addons are not tested with 1.35: coredns 1.11.4 (1.32 to 1.34)')
  expect(refused.status?.versions?.[0]?.version).toBe('1.34.2')

  await w.declare('one', { version: '1.35.2', addons: [addon('coredns', '1.12.1')] })
  await seen(
    w,
    'the upgrade',
    (c) => c.status?.versions?.[0]?.version === '1.35.2' && versionOf(c, 'coredns') === '1.12.1',
  )
  await seen(w, 'the dashboard is named no longer', (c) => versionOf(c, 'dashboard') === undefined)
  await within(w, async (client) => {
    expect(await client.get(deployments, { namespace: 'kubenode-dashboard', name: 'dashboard' })).toBeUndefined()
    // Its namespace would take with it whatever else is there.
    const [kept, namespace] = [
      await client.get(configMaps, { namespace: 'kubenode-dashboard', name: 'of-a-person' }),
      await client.get(coreKind('Namespace'), { name: 'kubenode-dashboard' }),
    ]
    expect([kept?.metadata.name, namespace?.metadata.deletionTimestamp]).toEqual(['of-a-person', undefined])
    expect((await client.get(deployments, DNS))?.metadata.labels).toMatchObject({
      'app.kubernetes.io/version': '1.12.1',
    })
  })
  await w.remove('one')
  await w.untilGone('one')
})

test('one that fails is named with its object while the others are applied, and a mend lets the cluster go on', async () => {
  const w = (world = await clusterWorld({ addons: async () => addonsOf('1', kinds, []) }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const other = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: DNS,
    spec: {
      selector: { matchLabels: { app: 'other' } },
      template: { metadata: { labels: { app: 'other' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
    },
  }
  await within(w, (client) => client.create(deployments, other, { fieldManager: 'person' }))
  await w.declare('one', { addons: [addon('coredns', '1.13.0'), addon('dashboard', '0.35.0')] })
  const failed = await seen(w, 'the failure', (c) => c.status?.waitingFor?.predicate === 'AddonFailed')
  expect(failed.status).toMatchObject({ phase: 'Ready', addons: [{}, { healthy: 'False' }, { name: 'dashboard' }] })
  expect(failed.status?.waitingFor?.seen).toMatch(/^addon coredns 1\.13\.0: Deployment\.apps.*kube-system\/coredns/)
  await within(w, async (client) => client.delete(deployments, DNS))
  await w.declare('one', { addons: [addon('coredns', '1.13.1'), addon('dashboard', '0.35.0')] })
  await seen(w, 'it goes on', (c) => c.status?.waitingFor === undefined && versionOf(c, 'coredns') === '1.13.1')
})

test('every tested version is accepted by an API server of its minors', async () => {
  const w = (world = await clusterWorld({ addons: async () => addonsOf('1', kinds, []) }))
  let tried = 0
  for (const minor of w.host.capabilities.minors) {
    const fits = Object.entries(ADDONS).map(([name, { versions }]) => {
      const [line] = Object.entries(versions).findLast(([, [a, b]]) => isIn(Number(minor.split('.')[1]), a, b)) ?? []
      return addon(name, `${line}.0`)
    })
    await w.declare('one', { version: `${minor}.0`, addons: fits })
    const cluster = await seen(
      w,
      `the addons of ${minor}`,
      (c) =>
        c.status?.versions?.[0]?.version === `${minor}.0` &&
        fits.every(({ name, version }) => versionOf(c, name) === version),
    )
    expect(cluster.status?.addons?.filter((a) => a.healthy === 'False')).toEqual([])
    tried++
  }
  expect(tried).toBe(w.host.capabilities.minors.length)
})

const isIn = (minor: number, first: number, last: number): boolean => minor >= first && minor <= last

const daemonSets = typeIn('apps/v1', 'DaemonSet')
const PROXY = { namespace: 'kube-system', name: 'proxy' }
const nodes = coreKind('Node')

/** A kubelet of this version. */
const reports = (client: HttpKubeClient, kubeletVersion: string) =>
  client.patch(
    nodes,
    { name: 'old' },
    { type: 'merge', value: { status: { nodeInfo: { ...NO_INFO, kubeletVersion } } } },
    { subresource: 'status' },
  )
const NO_INFO = Object.fromEntries(
  [
    'architecture',
    'bootID',
    'containerRuntimeVersion',
    'kernelVersion',
    'kubeProxyVersion',
    'machineID',
    'operatingSystem',
    'osImage',
    'systemUUID',
  ].map((field) => [field, '']),
)

const proxyRecipe = (version: string, isAfterNodes = false) => {
  const manifests = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: proxy, namespace: kube-system, labels: { version: '${version}' } }
spec:
  selector: { matchLabels: { app: proxy } }
  template:
    metadata: { labels: { app: proxy } }
    spec:
      hostNetwork: true
      containers: [{ name: proxy, image: 'proxy:v1', args: ['--cluster-cidr=$(KUBENODE_POD_RANGE)', '--master=$(KUBENODE_API_SERVER)'] }]
`
  const images = new Map([['proxy:v1', values.image]])
  const made = makeRecipe({ name: 'proxy', version, kubernetes: '1.34-1.36', isAfterNodes, manifests, images })
  if ('why' in made) throw new Error(made.why)
  return { ...made, named: { name: 'proxy', version, recipe: made.digest } }
}

test('one with a recipe of the hub is refused until an administrator keeps exactly that, then applied with what the hub knows', async () => {
  const w = (world = await clusterWorld({ addons: async () => addonsOf('1', kinds, []) }))
  const { configMap, named } = proxyRecipe('1.35.1')
  const administrator = { fieldManager: 'administrator' }
  await w.declare('one', { version: '1.35.2', addons: [named] })
  const refused = await seen(w, 'the refusal', (c) => c.status?.waitingFor?.predicate === 'InvalidSpec')
  expect(refused.status?.waitingFor?.seen).toContain('ConfigMap kubenode-clusters/addon-proxy-1.35.1 is not there')
  await w.admin.create(configMaps, configMap, administrator)
  await w.untilPhase('one', 'Ready')
  await within(w, async (client) => {
    const found = await client.get(daemonSets, PROXY)
    const { endpoint } = (await w.get('one'))?.status ?? {}
    expect(found).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              { image: values.image, args: ['--cluster-cidr=10.244.0.0/16', `--master=${endpoint ?? '?'}`] },
            ],
          },
        },
      },
    })
    await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'old' } }, administrator)
    await reports(client, 'v1.34.4')
  })

  // The next version follows the nodes, and leaves what runs until then.
  const next = proxyRecipe('1.35.2', true)
  await w.admin.create(configMaps, next.configMap, administrator)
  await w.declare('one', { version: '1.35.2', addons: [next.named] })
  const held = await seen(w, 'it waits', (c) => c.status?.addons?.some((a) => a.waitsFor === 'Nodes') === true)
  expect(held.status).toMatchObject({
    phase: 'Ready',
    addons: [{}, { name: 'proxy', version: '1.35.1', message: expect.stringContaining('oldest kubelet is 1.34.4') }],
  })
  const labelsOf = (client: HttpKubeClient) => client.get(daemonSets, PROXY).then((o) => o?.metadata.labels)
  expect(await within(w, labelsOf)).toEqual({ version: '1.35.1' })
  await within(w, async (client) => {
    await reports(client, 'v1.35.0')
  })
  await w.stopController()
  await w.startController()
  await seen(w, 'it is applied', (c) => versionOf(c, 'proxy') === '1.35.2')
  expect(await within(w, labelsOf)).toEqual({ version: '1.35.2' })

  // The administrator deletes the recipe: what runs stays, and the cluster says so.
  await w.admin.delete(configMaps, { namespace: CLUSTERS_NAMESPACE, name: 'addon-proxy-1.35.2' })
  await w.stopController()
  await w.startController()
  const kept = await seen(w, 'it is said', (c) => c.status?.addons?.[1]?.message?.includes('is not there') === true)
  expect(kept.status?.phase).toBe('Ready')
  expect(await within(w, labelsOf)).toEqual({ version: '1.35.2' })

  // Another content under the same name is not what the commit named.
  const other = makeRecipe({
    name: 'proxy',
    version: '1.35.2',
    kubernetes: '1.35',
    isAfterNodes: false,
    manifests: 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: other, namespace: default }\n',
    images: new Map(),
  })
  if ('why' in other) throw new Error(other.why)
  await w.admin.create(configMaps, other.configMap, administrator)
  await w.stopController()
  await w.startController()
  await seen(w, 'it is refused', (c) => c.status?.addons?.[1]?.message?.includes('has digest') === true)
  expect(await within(w, labelsOf)).toEqual({ version: '1.35.2' })
})
