// A hub with many clusters, each a light API server, and a repository whose commits change every object of all of them.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { release } from '#api/kinds/release.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { manifests } from '#test/support/servers/installed.ts'
import type { Target } from '../apiserver/load.ts'
import type { LightServers } from './light-servers.ts'

const CRD = coreKind('CustomResourceDefinition')
const NAMESPACE = coreKind('Namespace')
const SECRET = coreKind('Secret')
const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
export const LOOK_MS = 50
export const WITHIN_MS = 600_000

/** Equal content in every cluster, as addons are, with a version that a commit raises. */
export const fleetCode = (clusters: number, objects: number, version: number): string => `
import { ApiObject, App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = { name: 'all', clusters: { selector: {} }, maxConcurrency: ${clusters}, minSuccessTime: '0s', progressDeadline: '1h', offlineDeadline: '1h' }
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage] } })
for (let c = 0; c < ${clusters}; c++) {
  const name = 'c' + c
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: 'cluster-' + name, key: 'kubeconfig' }, stage: 'prod' } })
  const chart = new ClusterChart(app, name)
  for (let i = 0; i < ${objects}; i++)
    new ApiObject(chart, 'm' + i, {
      apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' + i, namespace: 'default' },
      data: { version: '${version}', text: 'a value of ordinary length, number ' + i },
    })
}
app.synth()
`

export const configOf = ({ host, port, ca, cert, key }: Target) => ({
  server: `https://${host}:${port}`,
  ca: { data: ca },
  clientCertificate: { cert: { data: cert }, key: { data: key } },
})

export async function prepareHub(
  client: KubeClient,
  dir: string,
  clusters: number,
  lights: LightServers,
): Promise<void> {
  for (const name of [SYSTEM_NAMESPACE, CLUSTERS_NAMESPACE])
    await client.apply(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, by)
  for (const crd of manifests().kinds) await client.apply(CRD, crd, by)
  for (let c = 0; c < clusters; c++) {
    const data = { kubeconfig: Buffer.from(kubeconfigOf(lights.address(c), { ca: lights.ca })).toString('base64') }
    const metadata = { name: `cluster-c${c}`, namespace: CLUSTERS_NAMESPACE }
    await client.apply(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data }, by)
  }
  const spec = {
    url: `file://${dir}`,
    ref: { branch: 'main' },
    interval: '1s',
    verify: { mode: 'Off' },
    tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
  }
  const metadata = { name: 'fleet', namespace: SYSTEM_NAMESPACE }
  await client.apply(fleetSource, { apiVersion: API_GROUP_VERSION, kind: fleetSource.kind, metadata, spec }, by)
}

export const kubeconfigOf = (
  server: string,
  { ca, cert, key }: { ca: string; cert?: string; key?: string },
): string => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const user =
    cert === undefined || key === undefined
      ? { token: 'bench' }
      : { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })
}

export const succeeded = (client: KubeClient, id: string): Promise<void> =>
  until(async () => {
    const { items } = await client.list(release, { namespace: SYSTEM_NAMESPACE })
    return items.find((r) => r.spec.commit === id)?.status?.phase === 'Succeeded'
  })

export async function until(is: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WITHIN_MS
  while (!(await is())) {
    if (performance.now() > end) throw new Error(`not finished within ${WITHIN_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
