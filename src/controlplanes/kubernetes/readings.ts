// Reads the preconditions of an upgrade from the control plane, through its own API server, and from the hub's nodes. A failed read is unknown, and unknown
// blocks the upgrade.
import { quotaOf } from '#api/constructs/control-plane/etcd.ts'
import { DEFAULTS } from '#api/constructs/control-plane/pods.ts'
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { programUser } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { listAll } from '#kube/list-all.ts'
import { quantityValue } from '#lib/quantity.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { clusterReadiness, mapped, reading } from '../upgrade/cluster-readiness.ts'
import type { Reading, Readiness } from '../upgrade/seen.ts'
import { listAt, recordAt } from './fields-of.ts'
import { QUOTAS } from './plane-objects.ts'
import { planeNamespace, type PlaneRecord } from './plane-record.ts'
import type { Readings, StoreSize } from './step-upgrade.ts'

const LIFE_MS = 10 * 60_000
const [NODES, PODS] = [coreKind('Node'), coreKind('Pod')]

type Closable = KubeClient & { close?(): void }

export interface ReadingTools {
  /** The hub's client. */
  readonly hub: KubeClient
  readonly connect: (config: ConnectionConfig) => Closable
}

export const readingsOf =
  ({ hub, connect }: ReadingTools): Readings =>
  async ({ record, wanted, kubeconfig }): Promise<Readiness> => {
    const identity = { user: programUser('cluster'), groups: ['system:masters'], lifeMs: LIFE_MS }
    const text = await kubeconfig(identity)
    const client = text === undefined ? undefined : connect(parseSafeKubeconfig(text, record.id).config)
    const asked = <T>(read: (of: Closable) => Promise<T>): Promise<Reading<T>> =>
      reading(() => (client === undefined ? Promise.reject(new Error('it has no kubeconfig')) : read(client)))
    try {
      const metrics = await asked((c) => pageText(c, '/metrics'))
      return {
        ...(await clusterReadiness(client)),
        removedApisInUse: mapped(metrics, (m) => removedApis(m, minorOf(wanted) ?? 0)),
        // A Cluster's addons are KubeNode's own, tested with both versions before a release.
        unfitAddons: { known: true, value: [] },
        etcd: await asked(async (c) => ({
          isHealthy: (await c.raw({ method: 'GET', path: '/livez/etcd' })).status === 200,
          usedOfQuota: usedOfQuota(await pageText(c, '/metrics'), record),
        })),
        surgeTrouble: await reading(() => surgeTrouble(hub, record)),
      }
    } finally {
      client?.close?.()
    }
  }

/** As reported by its API server, between two reports of the members. */
export const storeSizeOf =
  ({ connect }: Pick<ReadingTools, 'connect'>): StoreSize =>
  async ({ record, kubeconfig }) => {
    const text = await kubeconfig({ user: programUser('cluster'), groups: ['system:masters'], lifeMs: LIFE_MS })
    if (text === undefined) throw new Error('it has no kubeconfig')
    const client = connect(parseSafeKubeconfig(text, record.id).config)
    try {
      return storeBytes(await pageText(client, '/metrics'))
    } finally {
      client.close?.()
    }
  }

/** A refusal is not an empty page. */
async function pageText(client: KubeClient, path: string): Promise<string> {
  const { status, text } = await client.raw({ method: 'GET', path })
  if (status !== 200) throw new Error(`${path} answers with status ${status}`)
  return text
}

/** Labels and value of each sample of one metric family. */
function* samples(
  text: string,
  family: string,
): Generator<{ readonly labels: Readonly<Record<string, string>>; readonly value: number }> {
  for (const line of text.split('\n')) {
    if (!line.startsWith(family)) continue
    const [, name, labels = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name !== family) continue
    const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)",?/gy)].map(([, key = '', of = '']) => [key, of] as const)
    yield { labels: Object.fromEntries(pairs), value: Number(value) }
  }
}

/** APIs requested since the API server's start that the wanted minor no longer serves. */
export function removedApis(metrics: string, minor: number): readonly string[] {
  const found = new Set<string>()
  for (const { labels, value } of samples(metrics, 'apiserver_requested_deprecated_apis')) {
    const { group = '', version = '', resource = '', removed_release: removed = '' } = labels
    const last = minorOf(`${removed}.0`)
    if (value > 0 && last !== undefined && last <= minor)
      found.add([resource, version, group].filter(Boolean).join('.'))
  }
  return [...found].toSorted()
}

/** The fullest member counts. If an API server does not report the size, the store does not count as empty. */
export function usedOfQuota(metrics: string, { shape }: Pick<PlaneRecord, 'shape'>): number {
  return storeBytes(metrics) / quotaOf(shape.etcd.storage, shape.extraArgs)
}

function storeBytes(metrics: string): number {
  const sizes = [...samples(metrics, 'apiserver_storage_size_bytes')].map(({ value }) => value)
  if (sizes.length === 0) throw new Error('its API server does not tell the size of the store')
  return Math.max(...sizes)
}

/** What one more API server requests. */
interface Surge {
  readonly cpu: number
  readonly memory: number
}
type Amounts = Readonly<Record<string, unknown>>

const amount = (of: Amounts, what: string): number => quantityValue(of[what]) ?? 0

function surgeOf({ shape: { resources } }: Pick<PlaneRecord, 'shape'>): Surge {
  const { cpu, memory } = { ...DEFAULTS.apiserver, ...resources }
  return { cpu: quantityValue(cpu) ?? 0, memory: quantityValue(memory) ?? 0 }
}

/** A hub node has room next to its pods, and the namespace's quotas allow it too. */
export async function surgeTrouble(hub: KubeClient, record: Pick<PlaneRecord, 'id' | 'shape'>) {
  const surge = surgeOf(record)
  const namespace = planeNamespace(record.id)
  const [nodes, pods, quotas] = await Promise.all([
    listAll(hub, NODES),
    listAll(hub, PODS),
    listAll(hub, QUOTAS, { namespace }),
  ])
  return nodes.some((node) => hasRoom(node, pods, surge)) ? fullQuota(quotas, surge) : 'no node has it free'
}

function hasRoom(node: KubeObject, pods: readonly KubeObject[], surge: Surge): boolean {
  if (recordAt(node, 'spec')['unschedulable'] === true) return false
  const allocatable = recordAt(recordAt(node, 'status'), 'allocatable')
  const own = pods.filter((pod) => recordAt(pod, 'spec')['nodeName'] === node.metadata.name && !hasEnded(pod))
  const requests = own.flatMap((pod) =>
    listAt(recordAt(pod, 'spec'), 'containers').map((c) => recordAt(recordAt(c, 'resources'), 'requests')),
  )
  return (['cpu', 'memory'] as const).every((what) => {
    const used = requests.reduce((sum, of) => sum + amount(of, what), 0)
    return amount(allocatable, what) - used >= surge[what]
  })
}

/** Skips a quota whose usage is not computed yet. */
function fullQuota(quotas: readonly KubeObject[], { cpu, memory }: Surge): string | undefined {
  const needs = { pods: 1, 'count/pods': 1, cpu, memory, 'requests.cpu': cpu, 'requests.memory': memory }
  for (const quota of quotas) {
    const [hard, used] = [recordAt(quota['status'], 'hard'), recordAt(quota['status'], 'used')]
    for (const [what, more] of Object.entries(needs))
      if (hard[what] !== undefined && amount(used, what) + more > amount(hard, what))
        return `ResourceQuota ${quota.metadata.name ?? ''} has ${String(used[what])} of ${String(hard[what])} ${what} in use`
  }
  return undefined
}

const hasEnded = (pod: KubeObject): boolean =>
  ['Succeeded', 'Failed'].includes(String(recordAt(pod, 'status')['phase']))
