// Reads through the cluster's own API server what blocks an upgrade of its control plane. A failed read counts as unknown, which blocks the upgrade.
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { CallOptions, KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { listAt, recordAt } from '../kubernetes/fields-of.ts'
import { typeOf } from '../kubernetes/plane-objects.ts'
import type { ClusterReadiness, Reading } from './seen.ts'
import { orderOf } from './versions.ts'

const NODES = coreKind('Node')
const BUDGETS = coreKind('PodDisruptionBudget')
const WEBHOOKS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].map((kind) =>
  typeOf({ apiVersion: 'admissionregistration.k8s.io/v1', kind, isNamespaced: false }),
)
const SLICES = typeOf({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' })

export async function clusterReadiness(
  client: KubeClient | undefined,
  signal?: AbortSignal,
): Promise<ClusterReadiness> {
  const call = defined({ signal })
  const asked = <T>(read: (of: KubeClient) => Promise<T>): Promise<Reading<T>> =>
    reading(() => (client === undefined ? Promise.reject(new Error('it has no kubeconfig')) : read(client)))
  const nodes = await asked((c) => listAll(c, NODES, call))
  return {
    kubelets: mapped(nodes, kubeletsOf),
    unreadyNodes: mapped(nodes, (all) => ({
      total: all.length,
      names: all.flatMap((n) => (isReady(n) ? [] : (n.metadata.name ?? []))),
    })),
    blockingBudgets: await asked((c) => blockingBudgetsOf(c, call)),
    deafWebhooks: await asked((c) => deafWebhooksOf(c, call)),
  }
}

export async function reading<T>(read: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { known: true, value: await read() }
  } catch (error) {
    return { known: false, why: messageOf(error) }
  }
}

export const mapped = <T, U>(of: Reading<T>, map: (value: T) => U): Reading<U> =>
  of.known ? { known: true, value: map(of.value) } : of

type Node = BuiltIn['Node']

/** Without the condition, readiness is unknown. */
const isReady = (node: Node): boolean =>
  listAt(recordAt(node, 'status'), 'conditions').some((c) => c['type'] === 'Ready' && c['status'] === 'True')

/** An agent registered it: no kubelet runs there. */
const AGENT_AS_KUBELET = 'kubenode-agent/'

function kubeletsOf(nodes: readonly Node[]): { readonly oldest: string; readonly newest: string } | undefined {
  const versions = nodes
    .map(({ status }) => status?.nodeInfo?.['kubeletVersion'] ?? '')
    .filter((version) => !version.startsWith(AGENT_AS_KUBELET))
    .map((version) => version.replace(/^v/, ''))
    .toSorted(orderOf)
  const [oldest, newest] = [versions[0], versions.at(-1)]
  return oldest === undefined || newest === undefined ? undefined : { oldest, newest }
}

/** Undefined: no kubelet is there. */
export const oldestKubelet = async (client: KubeClient, call: CallOptions): Promise<string | undefined> =>
  kubeletsOf(await listAll(client, NODES, call))?.oldest

/** Budgets that allow no eviction now, so nodes of their pods could not be drained. A budget without pods blocks nothing. */
async function blockingBudgetsOf(client: KubeClient, call: CallOptions): Promise<readonly string[]> {
  const budgets = await listAll(client, BUDGETS, call)
  return budgets.flatMap(({ metadata: { namespace = '', name = '', generation = 0 }, status }) => {
    const isCounted = status?.disruptionsAllowed !== undefined && (status.observedGeneration ?? 0) >= generation
    const isBlocking = !isCounted || (status.disruptionsAllowed === 0 && (status.expectedPods ?? 0) > 0)
    return isBlocking ? [`${namespace}/${name}${isCounted ? '' : ' (not counted yet)'}`] : []
  })
}

/** Webhooks that fail closed, on a Service without a ready endpoint. */
async function deafWebhooksOf(client: KubeClient, call: CallOptions): Promise<readonly string[]> {
  const configurations = (await Promise.all(WEBHOOKS.map((type) => listAll(client, type, call)))).flat()
  const deaf: string[] = []
  for (const configuration of configurations)
    for (const webhook of listAt(configuration, 'webhooks')) {
      const { namespace, name } = recordAt(recordAt(webhook, 'clientConfig'), 'service')
      if (webhook['failurePolicy'] === 'Ignore' || typeof namespace !== 'string' || typeof name !== 'string') continue
      const slices = await listAll(client, SLICES, {
        ...call,
        namespace,
        labelSelector: `kubernetes.io/service-name=${name}`,
      })
      const endpoints = slices.flatMap((slice) => listAt(slice, 'endpoints'))
      if (!endpoints.some((e) => recordAt(e, 'conditions')['ready'] !== false)) deaf.push(String(webhook['name']))
    }
  return deaf
}
