// Servers that call a webhook by the endpoints of its Service: no node with its proxy runs beside them, so a test is the endpoint.
import { networkInterfaces } from 'node:os'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { apiServers, type RunningServer } from './api-servers.ts'
import { startControlPlane } from './real/control-plane.ts'

export interface ServiceServer {
  readonly name: string
  /** On which an endpoint can be: a real server takes none of loopback. */
  readonly address: string
  readonly start: () => Promise<RunningServer>
}

const startRouting = (): Promise<RunningServer> =>
  startControlPlane({ bare: true, flags: { 'kube-apiserver': ['--enable-aggregator-routing=true'] } })

const hostAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find((i) => !i.internal && i.family === 'IPv4')?.address

function reached(): readonly ServiceServer[] {
  const [embedded, real] = apiServers
  const address = hostAddress()
  if (real !== undefined && address === undefined)
    process.stderr.write('a real kube-apiserver: not run, this host has no address but loopback\n')
  return [
    ...(embedded === undefined ? [] : [{ name: embedded.name, address: '127.0.0.1', start: embedded.start }]),
    ...(real === undefined || address === undefined ? [] : [{ name: real.name, address, start: startRouting }]),
  ]
}

export const serviceServers = reached()

const serviceType: ResourceType = { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true }
const sliceType: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}

export const WEBHOOK = { namespace: SYSTEM_NAMESPACE, name: 'kubenode-webhook' } as const

/** The Service in front of the Defender, with one endpoint. */
export async function serveWebhookAt(admin: KubeClient, address: string, port: number): Promise<void> {
  await admin.create(serviceType, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: WEBHOOK,
    spec: { ports: [{ name: 'webhook', port: 443 }] },
  })
  await admin.create(sliceType, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: sliceType.kind,
    metadata: {
      namespace: WEBHOOK.namespace,
      name: `${WEBHOOK.name}-1`,
      labels: { 'kubernetes.io/service-name': WEBHOOK.name },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'webhook', port, protocol: 'TCP' }],
  })
}
