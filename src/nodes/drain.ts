// Moves pods off a node through the Eviction API, one bounded pass at a time. A pure function decides which pods must go; the API server enforces budgets.
import type { KubeClient } from '#kube/client.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { escapeFieldValue } from '#kube/selector.ts'
import { withJobWishes } from './job-wishes.ts'
import { type Pod, podType } from './objects.ts'
import { type PodWait, type PodWaits, checkpointAt, mayWait, podWaitText, podWaits } from './pod-waits.ts'

export interface DrainPlan {
  /** Pods to evict now. */
  readonly evict: readonly Pod[]
  /** Pods that are being evicted. */
  readonly going: readonly Pod[]
  /** Pods that must end on their own, or may not be evicted. */
  readonly kept: readonly Pod[]
  /** Pods that are left for a bounded time, to save their work. */
  readonly waiting: readonly PodWait[]
}

/** Options of a drain, besides the budgets. */
export interface DrainOptions {
  /** Overrides the pods' own grace period. */
  readonly gracePeriodSeconds?: number
  /** Pods with data in an emptyDir are not evicted: the data would be lost. */
  readonly keepsEmptyDir?: boolean
  /** Evict: the default. Wait: until they end on their own. Leave: they stay and block nothing. `*` matches all other namespaces. */
  readonly namespaces?: Readonly<Record<string, 'Evict' | 'Wait' | 'Leave'>>
  /** Absent: pods are not waited for. */
  readonly waits?: PodWaits
  /** The other pods stay and block nothing. Absent: all pods. */
  readonly only?: (pod: Pod) => boolean
}

/** Set by a kubelet on pods from its own files. No API call can move them. */
const MIRROR = 'kubernetes.io/config.mirror'
const FINISHED: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])
/** Evictions per pass. A node has about 110 pods, and budgets refuse most of a large pass anyway. */
const MOST_EVICTIONS = 50
/** Names in a message. The first few show whose pods they are. */
const MOST_NAMED = 5
/** Gangs whose pods on other nodes are read in one pass. A node runs one or two. */
const MOST_GANGS = 8
/** Limit of pods read per gang. Beyond it a checkpoint may be missed, and the gang is waited for longer. */
const MOST_PODS = 1_000

/** Mirror pods, DaemonSet pods and finished pods stay: a drain does not affect them, or they come back at once. Pure. */
export function drainPlan(pods: readonly Pod[], options: DrainOptions = {}): DrainPlan {
  const moving = movingPods(pods, options)
  const isGoing = (p: Pod) => p.metadata.deletionTimestamp !== undefined
  const isKept = (p: Pod) => wayOf(p, options) === 'Wait' || (options.keepsEmptyDir === true && hasEmptyDir(p))
  const left = moving.filter((p) => !isGoing(p))
  const evictable = left.filter((p) => !isKept(p))
  const waiting = podWaits(evictable, options.waits)
  const isLeft = new Set(waiting.flatMap(({ pods: members }) => members))
  return {
    evict: evictable.filter((p) => !isLeft.has(p)).slice(0, MOST_EVICTIONS),
    going: moving.filter(isGoing),
    kept: left.filter(isKept),
    waiting,
  }
}

/** What a person reads of a drain that continues. `pods`: undefined when they could not be listed. Pure. */
export function podsLeftText(pods: readonly Pod[] | undefined, waits?: PodWaits): string {
  if (pods === undefined) return 'the pods of the node could not be listed'
  const { evict, going, waiting } = drainPlan(pods, defined({ waits }))
  const [wait] = waiting
  const moving = [...evict, ...going]
  if (wait !== undefined && moving.length === 0) return podWaitText(wait)
  const [first] = moving
  return first === undefined
    ? 'no pods left'
    : `${counted(moving.length, 'pod', 'pods')} left, such as ${podName(first)}`
}

/** The pods that a drain waits for. Pure. */
export const movingPods = (pods: readonly Pod[], options: DrainOptions = {}): readonly Pod[] =>
  pods.filter(
    (p) =>
      !isMirror(p) &&
      !isOfDaemonSet(p) &&
      !FINISHED.has(p.status?.phase ?? '') &&
      wayOf(p, options) !== 'Leave' &&
      options.only?.(p) !== false,
  )

const wayOf = ({ metadata: { namespace = 'default' } }: Pod, options: DrainOptions) => namespaceWay(options, namespace)

function namespaceWay({ namespaces = {} }: DrainOptions, namespace: string): 'Evict' | 'Wait' | 'Leave' {
  if (Object.hasOwn(namespaces, namespace)) return namespaces[namespace] ?? 'Evict'
  return namespaces['*'] ?? 'Evict'
}

const hasEmptyDir = ({ spec }: Pod): boolean => spec?.volumes?.some((v) => v.emptyDir !== undefined) === true
const isMirror = (p: Pod): boolean => p.metadata.annotations?.[MIRROR] !== undefined
const isOfDaemonSet = (p: Pod): boolean =>
  p.metadata.ownerReferences?.some((o) => o.controller === true && o.kind === 'DaemonSet') === true

export type Drain =
  | { readonly kind: 'Drained' }
  /** Some pods are left: requeue. `blockedBy` names the first pod that a budget keeps, `blocked` the first few of all that stay. */
  | {
      readonly kind: 'Draining'
      readonly left: number
      readonly first: string
      readonly blockedBy?: string
      readonly blocked?: readonly string[]
      /** The work that it waits for. */
      readonly waiting?: string
    }
  /** The node's pods are unknown. Nothing was done, or not everything. */
  | { readonly kind: 'Unknown'; readonly error: Error }

/** All of them: thousands of finished pods may be on a node, and none of them may hide one that runs. */
export const podsOn = (client: KubeClient, node: string, signal?: AbortSignal): Promise<readonly Pod[]> =>
  listAll(client, podType, { fieldSelector: `spec.nodeName=${escapeFieldValue(node)}`, ...defined({ signal }) })

/** One pass: evicts every pod that must move, and returns what is left. The node must already be cordoned. */
export async function drainPass(
  clearance: Clearance,
  client: KubeClient,
  node: string,
  signal?: AbortSignal,
  options: DrainOptions = {},
): Promise<Drain> {
  const listed = await outcomeOf(() => podsOn(client, node, signal))
  if (listed.kind !== 'Applied') return { kind: 'Unknown', error: listed.error }
  const pods = await withJobWishes(client, listed.object, mayWait(options.waits), signal)
  const { evict, going, kept, waiting } = drainPlan(pods, await withCheckpoints(client, pods, options, signal))
  const byBudget: string[] = []
  let deleted = 0
  for (const pod of evict) {
    const evicted = await outcomeOf(() => evictExactly(clearance, client, pod, options, signal))
    if (evicted.kind === 'Unknown') return { kind: 'Unknown', error: evicted.error }
    if (evicted.kind === 'Stale') deleted++
    else if (evicted.kind !== 'Applied') byBudget.push(podName(pod))
  }
  const [wait] = waiting
  const left = evict.length - deleted + going.length + kept.length + waiting.flatMap((w) => w.pods).length
  const first = evict[0] ?? going[0] ?? kept[0] ?? wait?.pods[0]
  if (left === 0 || first === undefined) return { kind: 'Drained' }
  const [blockedBy] = byBudget
  const blocked = [...byBudget, ...kept.map(podName)].slice(0, MOST_NAMED)
  const named = {
    ...defined({ blockedBy, waiting: wait && podWaitText(wait) }),
    ...(blocked.length > 0 && { blocked }),
  }
  return { kind: 'Draining', left, first: podName(first), ...named }
}

/** A gang saves its work once, by any of its pods. Without an answer it is waited for until its time is over. */
async function withCheckpoints(
  client: KubeClient,
  pods: readonly Pod[],
  options: DrainOptions,
  signal: AbortSignal | undefined,
): Promise<DrainOptions> {
  const { waits } = options
  const { waiting } = drainPlan(pods, options)
  if (waits === undefined || waiting.length === 0) return options
  const checkpoints = new Map<string, number>()
  for (const { gang } of waiting.filter(({ gang: { label } }) => label !== undefined).slice(0, MOST_GANGS)) {
    const labelSelector = `${gang.label?.name ?? ''}=${gang.label?.value ?? ''}`
    const listing = { namespace: gang.namespace, labelSelector, limit: MOST_PODS, ...defined({ signal }) }
    const read = await outcomeOf(() => client.list(podType, listing))
    if (read.kind !== 'Applied') continue
    const times = read.object.items.flatMap((pod) => checkpointAt(pod) ?? [])
    if (times.length > 0) checkpoints.set(gang.key, Math.max(...times))
  }
  return { ...options, waits: { ...waits, checkpoints } }
}

export const podName = ({ metadata: { namespace = 'default', name = '' } }: Pod): string => `${namespace}/${name}`

function evictExactly(
  _clearance: Clearance,
  client: KubeClient,
  { metadata }: Pod,
  { gracePeriodSeconds }: DrainOptions,
  signal?: AbortSignal,
): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata
  const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }
  return client.evict({ name, namespace }, { preconditions: { uid }, ...grace, ...defined({ signal }) })
}
