// Reads through the cluster's own API server what blocks an upgrade of its control plane. A failed read counts as unknown, which blocks the upgrade.
import type { KubeObject } from '#api/schema/object.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { CallOptions, KubeClient } from '#kube/client.ts'
import { listWanted } from '#kube/list-all.ts'
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
  const nodes = await asked((c) => nodesOf(c, call))
  return {
    kubelets: mapped(nodes, kubeletsOf),
    unreadyNodes: mapped(nodes, (all) => ({
      total: all.length,
      names: all.flatMap(({ isReady, name }) => (isReady ? [] : name)),
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

interface NodeSeen {
  readonly name: string
  readonly isReady: boolean
  readonly kubelet: string
}

const nodesOf = (client: KubeClient, call: CallOptions): Promise<readonly NodeSeen[]> =>
  listWanted(client, NODES, call, (node) => [
    {
      name: node.metadata.name ?? '',
      isReady: isReady(node),
      kubelet: node.status?.nodeInfo?.['kubeletVersion'] ?? '',
    },
  ])

function kubeletsOf(nodes: readonly NodeSeen[]): { readonly oldest: string; readonly newest: string } | undefined {
  const versions = nodes
    .map(({ kubelet }) => kubelet)
    .filter((version) => !version.startsWith(AGENT_AS_KUBELET))
    .map((version) => version.replace(/^v/, ''))
    .toSorted(orderOf)
  const [oldest, newest] = [versions[0], versions.at(-1)]
  return oldest === undefined || newest === undefined ? undefined : { oldest, newest }
}

/** Undefined: no kubelet is there. */
export const oldestKubelet = async (client: KubeClient, call: CallOptions): Promise<string | undefined> =>
  kubeletsOf(await nodesOf(client, call))?.oldest

/** Budgets that allow no eviction now, so nodes of their pods could not be drained. A budget without pods blocks nothing. */
const blockingBudgetsOf = (client: KubeClient, call: CallOptions): Promise<readonly string[]> =>
  listWanted(client, BUDGETS, call, ({ metadata: { namespace = '', name = '', generation = 0 }, status }) => {
    const isCounted = status?.disruptionsAllowed !== undefined && (status.observedGeneration ?? 0) >= generation
    const isBlocking = !isCounted || (status.disruptionsAllowed === 0 && (status.expectedPods ?? 0) > 0)
    return isBlocking ? [`${namespace}/${name}${isCounted ? '' : ' (not counted yet)'}`] : []
  })

/** Webhooks that fail closed, on a Service without a ready endpoint. */
async function deafWebhooksOf(client: KubeClient, call: CallOptions): Promise<readonly string[]> {
  const onServices = WEBHOOKS.map((type) => listWanted(client, type, call, closedOnService))
  const deaf: string[] = []
  for (const { name, service, namespace } of (await Promise.all(onServices)).flat()) {
    const isReady = await listWanted(
      client,
      SLICES,
      { ...call, namespace, labelSelector: `kubernetes.io/service-name=${service}` },
      (slice) => (listAt(slice, 'endpoints').some((e) => recordAt(e, 'conditions')['ready'] !== false) ? [true] : []),
    )
    if (isReady.length === 0) deaf.push(name)
  }
  return deaf
}

interface OnService {
  readonly name: string
  readonly namespace: string
  readonly service: string
}

const closedOnService = (configuration: KubeObject): readonly OnService[] =>
  listAt(configuration, 'webhooks').flatMap((webhook) => {
    const { namespace, name } = recordAt(recordAt(webhook, 'clientConfig'), 'service')
    return webhook['failurePolicy'] === 'Ignore' || typeof namespace !== 'string' || typeof name !== 'string'
      ? []
      : [{ name: String(webhook['name']), namespace, service: name }]
  })
