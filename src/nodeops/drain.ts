// Moves pods off a node through the Eviction API, one bounded pass at a time. Which pods must go is decided by a pure function; budgets say no for us.
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { escapeFieldValue } from '#kube/selector.ts'
import { type Pod, podType } from './objects.ts'

export interface DrainPlan {
  /** Pods that are told to go now. */
  readonly evict: readonly Pod[]
  /** Pods that were told and are on their way. */
  readonly going: readonly Pod[]
}

/** Written by a kubelet for pods from its own files: no API call can move them. */
const MIRROR = 'kubernetes.io/config.mirror'
const FINISHED: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])
/** Evictions of one pass; a node holds some 110 pods, and budgets refuse most of a large pass anyway. */
const MOST_EVICTIONS = 50
/** Pods of one node that are looked at; kubelets allow 110 by default and 500 at most in practice. */
const MOST_PODS = 1_000

/** Mirror pods, pods of daemon sets and finished pods stay: they do not suffer, or come back at once. Pure. */
export function drainPlan(pods: readonly Pod[]): DrainPlan {
  const moving = pods.filter((p) => !isMirror(p) && !isOfDaemonSet(p) && !FINISHED.has(p.status?.phase ?? ''))
  const isGoing = (p: Pod) => p.metadata.deletionTimestamp !== undefined
  return { evict: moving.filter((p) => !isGoing(p)).slice(0, MOST_EVICTIONS), going: moving.filter(isGoing) }
}

const isMirror = (p: Pod): boolean => p.metadata.annotations?.[MIRROR] !== undefined
const isOfDaemonSet = (p: Pod): boolean =>
  p.metadata.ownerReferences?.some((o) => o.controller === true && o.kind === 'DaemonSet') === true

export type Drain =
  | { readonly kind: 'Drained' }
  /** Some are left: look again after a while. `blockedBy` names the first that a budget keeps. */
  | { readonly kind: 'Draining'; readonly left: number; readonly first: string; readonly blockedBy?: string }
  /** Who is on the node is not known; nothing was done, or not all. */
  | { readonly kind: 'Unknown'; readonly error: Error }

export async function podsOn(client: KubeClient, node: string, signal?: AbortSignal): Promise<readonly Pod[]> {
  const fieldSelector = `spec.nodeName=${escapeFieldValue(node)}`
  const page = await client.list(podType, { fieldSelector, limit: MOST_PODS, ...(signal && { signal }) })
  return page.items
}

/** One pass: asks every pod that must go to go, and tells what is left. The node must be cordoned already, and the drain permitted. */
export async function drainPass(client: KubeClient, node: string, signal?: AbortSignal): Promise<Drain> {
  const listed = await outcomeOf(() => podsOn(client, node, signal))
  if (listed.kind !== 'Applied') return { kind: 'Unknown', error: listed.error }
  const { evict, going } = drainPlan(listed.object)
  let blockedBy: string | undefined
  let gone = 0
  for (const pod of evict) {
    const evicted = await outcomeOf(() => evictExactly(client, pod, signal))
    if (evicted.kind === 'Unknown') return { kind: 'Unknown', error: evicted.error }
    if (evicted.kind === 'Stale') gone++
    else if (evicted.kind !== 'Applied') blockedBy ??= nameOf(pod)
  }
  const left = evict.length - gone + going.length
  const first = evict[0] ?? going[0]
  if (left === 0 || first === undefined) return { kind: 'Drained' }
  return { kind: 'Draining', left, first: nameOf(first), ...(blockedBy !== undefined && { blockedBy }) }
}

const nameOf = ({ metadata: { namespace = 'default', name = '' } }: Pod): string => `${namespace}/${name}`

function evictExactly(client: KubeClient, { metadata }: Pod, signal?: AbortSignal): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata
  return client.evict({ name, namespace }, { preconditions: { uid }, ...(signal && { signal }) })
}
