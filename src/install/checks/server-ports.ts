// Checks whether a release's NetworkPolicies let its programs reach the API server: plugins match the port behind the Service, and a cluster may use any.
import { isObject } from '#lib/json.ts'
import type { InstallContext } from '../context.ts'
import type { Release } from '../release.ts'

const SLICES =
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dkubernetes'
/** Applies to all programs. */
const POLICY = 'kubenode-all'
const DNS: ReadonlySet<number> = new Set([53, 5353])

const listIn = (v: unknown, name: string): readonly unknown[] => {
  const list = isObject(v) ? v[name] : undefined
  return Array.isArray(list) ? list : []
}
const portIn = (v: unknown): readonly number[] => {
  const port = isObject(v) ? v['port'] : undefined
  return typeof port === 'number' ? [port] : []
}

/** Empty if the server does not list its endpoints. */
export async function serverPorts({ client }: Pick<InstallContext, 'client'>): Promise<readonly number[]> {
  const { status, text } = await client.raw({ method: 'GET', path: SLICES })
  if (status === 404) return []
  if (status !== 200) throw new Error(`GET ${SLICES}: HTTP ${status}`)
  const slices = listIn(JSON.parse(text), 'items')
  return [...new Set(slices.flatMap((slice) => listIn(slice, 'ports').flatMap(portIn)))].toSorted((a, b) => a - b)
}

export interface ClosedPorts {
  readonly closed: readonly number[]
  readonly open: readonly number[]
}

/** Undefined if no port is closed. */
export function closedPorts({ objects }: Release, ports: readonly number[]): ClosedPorts | undefined {
  const policy = objects.find((o) => o.kind === 'NetworkPolicy' && o.metadata.name === POLICY)
  if (policy === undefined) return undefined
  const rules = listIn(policy['spec'], 'egress')
  const open = rules.flatMap((rule) => listIn(rule, 'ports').flatMap(portIn)).filter((port) => !DNS.has(port))
  const closed = ports.filter((port) => !open.includes(port))
  return closed.length === 0 ? undefined : { closed, open: [...new Set(open)] }
}
