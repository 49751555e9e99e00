// In place of CoreDNS: answers what pods of a sealed host ask for names of Services and of the pods behind them, from the API. IPv4 and UDP only.
import { createSocket } from 'node:dgram'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { SealedHost } from './sealed-host.ts'
import { answerOf, type Names } from './dns-answers.ts'
import { services, slices, valuesOf } from './service-rules.ts'

const DOMAIN = 'cluster.local'
const PORT = 53
const LOOK_EVERY_MS = 300

/** Settings of a kubelet. */
export const namesFrom = ({ outside }: Pick<SealedHost, 'outside'>) => ({
  clusterDNS: [outside],
  clusterDomain: DOMAIN,
})

/** A Service has its own address, or those of its endpoints, and then each endpoint with a host name has a name too. */
function namesOf(all: readonly KubeObject[], endpoints: readonly KubeObject[]): Names {
  const names = new Map<string, string[]>()
  const add = (name: string, addresses: readonly string[]): void =>
    void names.set(name, [...(names.get(name) ?? []), ...addresses])
  for (const { metadata, spec } of all) {
    const { clusterIP } = isObject(spec) ? spec : {}
    const own = `${metadata.name}.${metadata.namespace}.svc`
    add(own, typeof clusterIP === 'string' && clusterIP !== 'None' ? [clusterIP] : [])
    if (clusterIP !== 'None') continue
    for (const slice of endpoints) {
      const of = slice.metadata.labels?.['kubernetes.io/service-name']
      if (of !== metadata.name || slice.metadata.namespace !== metadata.namespace) continue
      if (slice['addressType'] !== 'IPv4') continue
      for (const { addresses, hostname, conditions } of valuesOf(slice['endpoints'])) {
        if (isObject(conditions) && conditions['ready'] === false) continue
        const found = Array.isArray(addresses) ? addresses.map(String) : []
        add(own, found)
        if (typeof hostname === 'string') add(`${hostname}.${own}`, found)
      }
    }
  }
  return names
}

export interface ClusterNames {
  stop(): Promise<void>
}

/** Of a whole cluster. */
export const namesIn = (client: KubeClient) => async (): Promise<Names> =>
  namesOf(await listAll(client, services), await listAll(client, slices))

export async function serveNames({ outside }: SealedHost, look: () => Promise<Names>): Promise<ClusterNames> {
  let names: Names = new Map()
  const socket = createSocket('udp4')
  socket.on('message', (asked, { address, port }) => {
    const answer = answerOf(asked, names)
    if (answer !== undefined) socket.send(answer, port, address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(PORT, outside, resolve)
  })
  const end = new AbortController()
  const loop = (async () => {
    while (!end.signal.aborted) {
      // An API server that is busy is asked again.
      names = await look().catch(() => names)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  })()
  return {
    stop: async () => {
      end.abort()
      await loop
      socket.close()
    },
  }
}
