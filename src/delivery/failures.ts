// What fails in a cluster, object by object. If an object only reports failing machines or nodes, these count instead. Pure.
import type { KnownFailure } from '#api/kinds/inventory.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { objectsIn, textOf } from '#lib/fields.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { groupOf } from '#api/schema/resource.ts'
import type { Health } from './health.ts'

/** `Faulty` is not a failure of the object yet: a node that matches a rule may still be repaired. */
export interface Failure extends KnownFailure {
  readonly message: string
  /** A wait that no commit is to blame for. */
  readonly outside?: OutsideWait
  /** A wait for something that sets provide: while one of those is held, so is this. */
  readonly setWait?: SetWait
}

/** Machines that are not Ready yet, or a component that another set installs. */
export type SetWait = 'Machines' | 'Requirement'

/** Limits of time, of the Defender and of the set itself. Nothing is broken, and it continues at the given time. */
const OF_TIME = [
  'RateExceeded',
  'WaitingForWindow',
  'OutsideWindow',
  'BlackoutActive',
  'FleetBudget',
  'FleetStopped',
] as const
type TimeWait = (typeof OF_TIME)[number]

/** A time limit, a person's hold, or a control plane, whose steps have their own deadlines. Their time does not count against a release. */
export type OutsideWait = TimeWait | 'HoldPause' | 'ControlPlaneChanging'

export interface FailingObject {
  /** In the form of `refText`. */
  readonly name: string
  /** Absent: it does not exist. */
  readonly object: KubeObject | undefined
  readonly health: Health
  /** Short digest of its declaration. Absent if KubeNode applied nothing. */
  readonly digest: string | undefined
}

/** If an object is unhealthy only because of some machines, there is one failure per machine. */
export function failuresOf(all: readonly FailingObject[]): readonly Failure[] {
  return all.flatMap((one) => (one.object === undefined ? absent(one) : failuresIn(one, one.object)))
}

/** Declared and missing. */
export const ABSENT = 'Absent'

const absent = ({ name, health, digest }: FailingObject): readonly Failure[] => [
  {
    object: name,
    state: 'InProgress',
    reason: ABSENT,
    message: health.message,
    ...defined({ digest }),
  },
]

function failuresIn({ name, health, digest }: FailingObject, object: KubeObject): readonly Failure[] {
  const base = {
    object: name,
    ...defined({ uid: object.metadata.uid, digest }),
  }
  const isOurs = groupOf(object.apiVersion) === 'kubenode.io'
  if (isOurs && object.kind === 'NodeRemedier') {
    const isExhausted = conditionOf(object, 'Stalled')?.reason === EXHAUSTED
    if (health.state === 'Current' || (health.state === 'Failed' && isExhausted))
      return faultyNodes(object, isExhausted).map((part) => ({ ...base, ...part }))
  }
  if (health.state === 'Current') return []
  const lacking = isOurs && object.kind === 'MachineSet' ? machinesLacking(object, health) : 0
  const state = health.state === 'Failed' ? 'Failed' : 'InProgress'
  const outside = isOurs && state === 'InProgress' ? outsideOf(object) : undefined
  const setWait = isOurs && state === 'InProgress' ? setWaitOf(object) : undefined
  return [
    {
      ...base,
      state,
      reason: reasonOf(object, health).slice(0, MAX_REASON),
      message: outside === undefined || outside === 'HoldPause' ? health.message : timeText(waitOf(object), outside),
      ...(lacking > 0 ? { count: lacking } : {}),
      ...defined({ outside, setWait }),
    },
  ]
}

const MAX_REASON = 200

function outsideOf(object: KubeObject): TimeWait | 'HoldPause' | undefined {
  if (statusOf(object)['phase'] === 'Paused') return 'HoldPause'
  const { predicate } = waitOf(object)
  return OF_TIME.find((wait) => wait === predicate)
}

function setWaitOf(object: KubeObject): SetWait | undefined {
  if (object.kind === 'MachineSet') return 'Machines'
  return waitOf(object)['predicate'] === 'RequirementUnmet' ? 'Requirement' : undefined
}

/** The command for details asks the member cluster, and readers of this are on the hub. */
const DETAILS = /; for details run kubenode why \S+$/

/** A rate limit reports when it permits the next machines. */
const timeText = ({ seen, unblock }: Record<string, unknown>, wait: TimeWait): string =>
  wait === 'RateExceeded' ? textOf(seen) : `${textOf(seen)}; continues when ${textOf(unblock).replace(DETAILS, '')}`

const statusOf = (object: KubeObject): Record<string, unknown> => (isObject(object['status']) ? object['status'] : {})
const waitOf = (object: KubeObject): Record<string, unknown> => {
  const waiting = statusOf(object)['waitingFor']
  return isObject(waiting) ? waiting : {}
}

function conditionOf(object: KubeObject, type: string): Condition | undefined {
  const list = objectsIn(statusOf(object)['conditions']) as unknown as readonly Condition[]
  return list.find((c) => c.type === type)
}

/** The identity of a failure. Without the message, which contains numbers and times. */
function reasonOf(object: KubeObject, health: Health): string {
  const [stalled, ready] = [conditionOf(object, 'Stalled'), conditionOf(object, 'Ready')]
  const reason = stalled?.status === 'True' ? stalled.reason : ready?.status === 'False' ? ready.reason : undefined
  const status = statusOf(object)
  const revisions = isObject(status['revisions']) ? objectsIn(status['revisions']['blocked']) : []
  const blocked = revisions.map((b) => `${textOf(b['component'])}@${textOf(b['revision'])}`)
  return [textOf(status['phase']), reason, ...blocked.toSorted()].filter(Boolean).join(' ') || health.state
}

const EXHAUSTED = 'LadderExhausted'

/** A rule is Stalled because of nodes that no repair fixed. The others are being repaired. */
type Part = Pick<Failure, 'part' | 'state' | 'reason' | 'message' | 'count'>

function faultyNodes(object: KubeObject, isExhausted: boolean): readonly Part[] {
  const matching = objectsIn(statusOf(object)['matching'])
  // A controller of an older version does not name them.
  const isNamed = matching.some((m) => m['reason'] === EXHAUSTED)
  const listed = matching.map((m): Part => {
    const part = `node/${textOf(m['node'])}`
    return isExhausted && (!isNamed || m['reason'] === EXHAUSTED)
      ? { part, state: 'Failed', reason: EXHAUSTED, message: textOf(m['waitingFor']) }
      : { part, state: 'Faulty', reason: 'Faulty', message: '' }
  })
  const unlisted = countIn(statusOf(object)['counts'], 'matching') - listed.length
  if (unlisted <= 0) return listed
  const message = `${unlisted} more nodes are faulty than the status lists`
  return [...listed, { state: isExhausted ? 'Failed' : 'Faulty', reason: 'Unlisted', message, count: unlisted }]
}

const countIn = (counts: unknown, name: string): number =>
  isObject(counts) && typeof counts[name] === 'number' ? counts[name] : 0

/** How many machines the objects report: the largest count among their kinds. */
export function machinesOf(objects: Iterable<KubeObject>): number {
  let [inSets, most] = [0, 0]
  for (const object of objects) {
    if (groupOf(object.apiVersion) !== 'kubenode.io') continue
    const status = statusOf(object)
    if (object.kind === 'MachineSet') inSets += countIn(object['spec'], 'replicas')
    if (object.kind === 'MachineComponentSet') most = Math.max(most, countIn(status['counts'], 'total'))
    if (object.kind === 'NodeRemedier') most = Math.max(most, countIn(status['counts'], 'selected'))
  }
  return Math.max(inSets, most)
}

/** Nonzero only if the set is unhealthy solely for lack of Ready machines, and its controller has observed the newest spec. */
function machinesLacking(object: KubeObject, health: Health): number {
  const status = statusOf(object)
  const spec = isObject(object['spec']) ? object['spec'] : {}
  const [wanted, ready, observed] = [spec['replicas'], status['readyReplicas'], status['observedGeneration']]
  if (health.state !== 'InProgress' || typeof wanted !== 'number' || typeof ready !== 'number') return 0
  if (typeof observed === 'number' && observed < (object.metadata.generation ?? 0)) return 0
  return Math.max(0, wanted - ready)
}
