// The world of the heal benchmark: a server as a process, embedded or real, nodes without kubelets that never fall silent, and what people and agents would do to them.
import { join } from 'node:path'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { install } from '#programs/local/install.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type Started, startEmbedded, startReal } from '../apiserver/servers.ts'
import type { ServerKind } from '../result.ts'

export const CONDITIONS = 50
export const conditionOf = (n: number): string => `Trouble${n % CONDITIONS}`
export const nodeName = (n: number): string => `node-${String(n).padStart(5, '0')}`
/** Fifty nodes a rack; nodes with consecutive names are in different racks. */
const PER_RACK = 50
const rackOf = (n: number, nodes: number): string => `rack-${n % Math.max(1, Math.floor(nodes / PER_RACK))}`
/** No kubelet runs here; without a date far ahead all nodes would count as silent. */
const NEVER = '2099-01-01T00:00:00Z'
const WRITES_AT_ONCE = 64

const serviceAccountType = coreKind('ServiceAccount')

export interface BenchWorld {
  readonly client: HttpKubeClient
  readonly connection: ConnectionConfig
  readonly nodes: number
  readonly serverPids: readonly number[]
  stop(): Promise<void>
}

export async function startWorld(nodes: number, kind: ServerKind): Promise<BenchWorld> {
  // Without a controller manager, which would find that no kubelet runs on these nodes.
  const server: Started = await (kind === 'real' ? startReal({ bare: true }) : startEmbedded())
  const { host, port, ca, cert, key } = server.target
  const connection: ConnectionConfig = {
    server: `https://${host}:${port}`,
    ca: { data: ca },
    clientCertificate: { cert: { data: cert }, key: { data: key } },
  }
  const client = new HttpKubeClient(connection, { userAgent: 'bench' })
  await install(client, join(import.meta.dirname, '../../deploy'), systemClock)
  // Pods need a service account; without a controller manager to create it, we do.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } }
  await outcomeOf(() => client.create(serviceAccountType, account))
  await forEach(nodes, async (n) => void (await client.create(nodeType, nodeOf(n, nodes))))
  return {
    client,
    connection,
    nodes,
    serverPids: server.target.pids,
    stop: async () => {
      client.close()
      await server.stop()
    },
  }
}

/** Some three kilobytes, as kubelets make them. */
function nodeOf(n: number, nodes: number): Node {
  const at = timestamp(systemClock.now())
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: NEVER,
    lastTransitionTime: at,
  }
  const images = Array.from({ length: 12 }, (_, i) => ({
    names: [`registry.example.org/library/image-${i}@sha256:${String(i).repeat(64).slice(0, 64)}`],
    sizeBytes: 100_000_000 + i,
  }))
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(n), labels: { [LABELS.rack]: rackOf(n, nodes), pool: `pool-${n % 4}` } },
    status: { conditions: [ready], images, nodeInfo: { kernelVersion: '5.10.134', kubeletVersion: 'v1.36.0' } },
  } as unknown as Node
}

export const ours = (type: ResourceType, name: string, spec: object): KubeObject & { readonly spec: object } => ({
  apiVersion: API_GROUP_VERSION,
  kind: type.kind,
  metadata: { name },
  spec,
})

export async function addMachine({ client, nodes }: BenchWorld, n: number): Promise<void> {
  const name = nodeName(n)
  const node = await client.get(nodeType, { name })
  await client.create(machine, ours(machine, name, { rack: rackOf(n, nodes) }) as never)
  const at = timestamp(systemClock.now())
  const is = (type: string) => ({ type, status: 'True', reason: 'Reported', message: '', lastTransitionTime: at })
  const status = {
    phase: 'Ready',
    nodeRef: { name, uid: node?.metadata.uid ?? '' },
    conditions: [is('Ready'), is('AgentReachable')],
  }
  await client.patch(machine, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
}

export async function setCondition(
  { client }: BenchWorld,
  n: number,
  type: string,
  status: 'True' | 'False',
): Promise<void> {
  const at = timestamp(systemClock.now())
  const value = {
    status: {
      conditions: [{ type, status, reason: 'Reported', message: '', lastTransitionTime: at, lastHeartbeatTime: at }],
    },
  }
  await client.patch(
    nodeType,
    { name: nodeName(n) },
    { type: 'strategic', value: value as never },
    { subresource: 'status' },
  )
}

/** For 0 to count - 1, or each of a list; many at a time. */
export async function forEach(what: number | readonly number[], run: (n: number) => Promise<void>): Promise<void> {
  const list = typeof what === 'number' ? Array.from({ length: what }, (_, n) => n) : [...what]
  let at = 0
  const next = async (): Promise<void> => {
    for (let n = list[at++]; n !== undefined; n = list[at++]) await run(n)
  }
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, next))
}

export async function until(isSo: () => boolean, withinMs: number, everyMs = 5): Promise<boolean> {
  const end = performance.now() + withinMs
  while (!isSo()) {
    if (performance.now() > end) return false
    await systemClock.sleep(everyMs)
  }
  return true
}
