// Finds the address of a Service for a webhook call: one of its ready endpoints, in turn. A kube-apiserver with endpoint routing does the same; there is no
// cluster network here that would carry a cluster IP.
import type { KubeObject } from '#api/schema/object.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'
import type { ResolveService } from './webhook-call.ts'
import type { ServiceReference } from './webhook-config.ts'
import type { Store } from '../storage/store.ts'

interface Endpoint {
  readonly host: string
  readonly port: number
}

const SERVICE_NAME = 'kubernetes.io/service-name'

export function endpointsInTurn(store: Pick<Store, 'get' | 'collection'>): ResolveService {
  let turn = 0
  return (reference) => {
    const { namespace, name } = reference
    const service = store.get({ resource: '/services', namespace, name })?.value
    if (service === undefined) return undefined
    const slices = Array.from(store.collection('discovery.k8s.io/endpointslices').list(namespace), (s) => s.value)
    const ready = slices
      .filter((s) => s.metadata.labels?.[SERVICE_NAME] === name)
      .flatMap((slice) => readyIn(slice, portNameOf(service, reference)))
    return ready.length === 0 ? undefined : ready[turn++ % ready.length]
  }
}

/** Slices have the target port under the name that the Service gives it; undefined when the Service has no such port. */
function portNameOf(service: KubeObject, { port }: ServiceReference): string | undefined {
  const found = listOfFields(fields(service['spec'])['ports']).find((p) => p['port'] === port)
  return found && word(found['name'])
}

function readyIn(slice: KubeObject, portName: string | undefined): readonly Endpoint[] {
  const port = listOfFields(slice['ports']).find((p) => word(p['name']) === portName)?.['port']
  if (portName === undefined || typeof port !== 'number') return []
  // An endpoint without conditions is ready.
  const ready = listOfFields(slice['endpoints']).filter((e) => fields(e['conditions'])['ready'] !== false)
  return ready.flatMap((e) => {
    const [host] = Array.isArray(e['addresses']) ? (e['addresses'] as readonly unknown[]) : []
    return typeof host === 'string' ? [{ host, port }] : []
  })
}
