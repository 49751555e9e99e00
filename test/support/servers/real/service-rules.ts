// In place of kube-proxy: firewall rules of a sealed host that lead the addresses of Services to their ready endpoints. IPv4 only.
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { UPLINK, type SealedHost } from './sealed-host.ts'

export const services: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
}
export const slices: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}
const LOOK_EVERY_MS = 300

interface Port {
  readonly name?: string
  readonly port: number
  readonly nodePort?: number
  readonly protocol?: string
}

type Values = readonly Readonly<Record<string, unknown>>[]
export const valuesOf = (v: unknown): Values => (Array.isArray(v) ? v.filter(isObject) : [])

/** `ADDRESS:PORT` of each ready endpoint of a port. */
function endpointsOf({ metadata }: KubeObject, port: Port, all: readonly KubeObject[]): readonly string[] {
  const own = all.filter(
    (s) =>
      s.metadata.namespace === metadata.namespace &&
      s.metadata.labels?.['kubernetes.io/service-name'] === metadata.name &&
      s['addressType'] === 'IPv4',
  )
  return own.flatMap((slice) => {
    const target = valuesOf(slice['ports']).find((p) => (p['name'] ?? '') === (port.name ?? ''))
    if (target === undefined) return []
    return valuesOf(slice['endpoints'])
      .filter((e) => !isObject(e['conditions']) || e['conditions']['ready'] !== false)
      .flatMap((e) => (Array.isArray(e['addresses']) ? e['addresses'] : []))
      .map((address) => `${String(address)}:${String(target['port'])}`)
  })
}

/** Input of iptables-restore: replaces our own chains and leaves all others. */
function rulesOf(all: readonly KubeObject[], endpoints: readonly KubeObject[]): string {
  const [leads, refuses]: [string[], string[]] = [[], []]
  for (const service of all) {
    const spec = isObject(service['spec']) ? service['spec'] : {}
    if (typeof spec['clusterIP'] !== 'string' || spec['clusterIP'] === 'None') continue
    for (const port of valuesOf(spec['ports']) as unknown as readonly Port[]) {
      const protocol = (port.protocol ?? 'TCP').toLowerCase()
      const ready = endpointsOf(service, port, endpoints)
      const own = `-d ${spec['clusterIP']}/32 -p ${protocol} --dport ${port.port}`
      const outer =
        port.nodePort === undefined ? [] : [`-m addrtype --dst-type LOCAL -p ${protocol} --dport ${port.nodePort}`]
      for (const match of [own, ...outer]) {
        for (const [i, to] of ready.entries()) {
          const chance = (1 / (ready.length - i)).toFixed(5)
          const share = i === ready.length - 1 ? '' : ` -m statistic --mode random --probability ${chance}`
          leads.push(`-A KUBENODE-LEADS ${match}${share} -j DNAT --to-destination ${to}`)
        }
        if (ready.length === 0) refuses.push(`-A KUBENODE-REFUSES ${match} -j REJECT`)
      }
    }
  }
  const nat = ['*nat', ':KUBENODE-LEADS - [0:0]', ...leads, 'COMMIT']
  return `${[...nat, '*filter', ':KUBENODE-REFUSES - [0:0]', ...refuses, 'COMMIT'].join('\n')}\n`
}

/**
 * Replies to pods on the same bridge would not come back the way that they went, so all led connections are masqueraded. Pods see each other's addresses: members of
 * an etcd compare them with their names.
 */
const FRAME = `*nat
:KUBENODE-LEADS - [0:0]
-A PREROUTING -j KUBENODE-LEADS
-A OUTPUT -j KUBENODE-LEADS
-A POSTROUTING -m conntrack --ctstate DNAT -j MASQUERADE
-A POSTROUTING -o ${UPLINK} -j MASQUERADE
COMMIT
*filter
:KUBENODE-REFUSES - [0:0]
-A INPUT -j KUBENODE-REFUSES
-A FORWARD -j KUBENODE-REFUSES
-A OUTPUT -j KUBENODE-REFUSES
COMMIT
`

export interface ServiceRules {
  stop(): Promise<void>
}

export function keepServiceRules(host: SealedHost, client: KubeClient): ServiceRules {
  const restore = (rules: string): void => void host.run('/usr/sbin/iptables-restore', ['--noflush'], rules)
  restore(FRAME)
  const end = new AbortController()
  let last = ''
  const look = async (): Promise<void> => {
    const [all, endpoints] = await Promise.all([listAll(client, services), listAll(client, slices)])
    const rules = rulesOf(all, endpoints)
    if (rules === last) return
    restore(rules)
    last = rules
  }
  const loop = (async () => {
    while (!end.signal.aborted) {
      // An API server that is busy is asked again.
      await look().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  })()
  return {
    stop: async () => {
      end.abort()
      await loop
    },
  }
}
