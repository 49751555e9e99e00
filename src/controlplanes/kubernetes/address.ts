// Fixes a control plane's address for clients before any certificate names it.
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { API_PORT, type ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { listAt, numberAt, recordAt } from './fields-of.ts'
import { applyAll, SERVICES, type Place } from './plane-objects.ts'
import type { PlaneRecord } from './plane-record.ts'

const API_SERVICE = 'kube-apiserver'

export type Settled =
  | { readonly is: 'Settled'; readonly address: NonNullable<PlaneRecord['address']> }
  | { readonly is: 'Waits'; readonly why: string }

export async function settleAddress(
  place: Place,
  settings: ControlPlaneSettings,
  { shape, port = API_PORT }: PlaneRecord,
): Promise<Settled> {
  const service = controlPlaneObjects(settings).filter((o) => o.kind === 'Service' && o.metadata.name === API_SERVICE)
  await applyAll(place, service)
  const live = await place.client.get(SERVICES, { namespace: place.namespace, name: API_SERVICE })
  const spec = recordAt(live, 'spec')
  const { type, host } = shape.endpoint
  switch (type) {
    case 'ClusterIP':
      return typeof spec['clusterIP'] === 'string'
        ? { is: 'Settled', address: { host: spec['clusterIP'], port } }
        : { is: 'Waits', why: 'the hub has given its Service no address yet' }
    case 'NodePort': {
      const [first] = listAt(spec, 'ports')
      const nodePort = numberAt(first, 'nodePort')
      if (host === undefined) return { is: 'Waits', why: 'controlPlane.endpoint.host, which type NodePort requires' }
      return nodePort > 0
        ? { is: 'Settled', address: { host, port: nodePort, nodePort } }
        : { is: 'Waits', why: 'the hub has given its Service no port yet' }
    }
    case 'LoadBalancer': {
      const [first] = listAt(recordAt(recordAt(live, 'status'), 'loadBalancer'), 'ingress')
      const given = host ?? first?.['ip'] ?? first?.['hostname']
      return typeof given === 'string'
        ? { is: 'Settled', address: { host: given, port } }
        : { is: 'Waits', why: 'the load balancer of the hub has given its Service no address yet' }
    }
    default:
      return type satisfies never
  }
}
