// Whether an object is healthy, from its own status: our kinds by phase and conditions, common kinds by their counts. Pure.
import type { Reason } from '#api/catalogue.ts'
import { isObject } from '#lib/json.ts'
import { numberOr, textOf } from '#lib/fields.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { groupOf } from '#api/schema/resource.ts'

type HealthState = 'Current' | 'InProgress' | 'Failed' | 'Terminating'

export interface Health {
  readonly state: HealthState
  /** Text for users. Empty if healthy. */
  readonly message: string
}

const CURRENT: Health = { state: 'Current', message: '' }
const inProgress = (message: string): Health => ({ state: 'InProgress', message })
const failed = (message: string): Health => ({ state: 'Failed', message })

/** These need a status. Until a controller reports one, they are not known to be healthy. */
const REPORTED: ReadonlySet<string> = new Set(['MachineSet', 'MachineComponentSet'])

export function healthOf(object: KubeObject): Health {
  const { metadata, kind } = object
  if (metadata.deletionTimestamp !== undefined) return { state: 'Terminating', message: 'being deleted' }
  const status = isObject(object['status']) ? object['status'] : undefined
  const observed = status?.['observedGeneration']
  if (typeof observed === 'number' && metadata.generation !== undefined && observed < metadata.generation)
    return inProgress(refusalIn(status) ?? 'its controller has not observed the latest spec yet')
  if (groupOf(object.apiVersion) === 'kubenode.io') return ourHealth(kind, status)
  const byKind = COMMON[kind]
  return byKind === undefined ? byConditions(conditionsOf(status)) : byKind(object, status ?? {})
}

function ourHealth(kind: string, status: Record<string, unknown> | undefined): Health {
  if (status === undefined) return REPORTED.has(kind) ? inProgress('no status reported yet') : CURRENT
  const conditions = conditionsOf(status)
  const phase = status['phase']
  if (phase === 'Blocked' || phase === 'Failed') return failed(`it is ${phase}${why(conditions)}`)
  const generic = byConditions(conditions)
  // A person's hold is not a failure, but what it stops is not done either. A failure from before the hold still counts.
  if (phase === 'Paused' && generic.state !== 'Failed') return inProgress(`it is ${phase}${pausedBy(conditions)}`)
  if (generic.state !== 'Current' || !REPORTED.has(kind)) return generic
  const isThere = conditions.some((c) => c.type === 'Ready' && c.status === 'True') || phase === 'Complete'
  return isThere
    ? CURRENT
    : inProgress(`it is ${typeof phase === 'string' ? phase : 'not Ready yet'}${why(conditions)}`)
}

/** Why our controller does not get to the latest spec. */
const refusalIn = (status: Record<string, unknown> | undefined): string | undefined =>
  conditionsOf(status).find((c) => c.reason === ('ActionRefused' satisfies Reason))?.message

const why = (conditions: readonly Condition[]): string => {
  const ready = conditions.find((c) => c.type === 'Ready' || c.type === 'Stalled')
  return ready === undefined ? '' : `: ${ready.message}`
}

const pausedBy = (conditions: readonly Condition[]): string => {
  const paused = conditions.find((c) => c.type === 'Paused' && c.status === 'True')
  return paused === undefined ? why(conditions) : ` by ${paused.message}`
}

/** The convention of most kinds: Stalled, Reconciling, Ready. */
function byConditions(conditions: readonly Condition[]): Health {
  const get = (type: string) => conditions.find((c) => c.type === type)
  const stalled = get('Stalled')
  if (stalled?.status === 'True') return failed(stalled.message)
  const reconciling = get('Reconciling')
  if (reconciling?.status === 'True') return inProgress(reconciling.message)
  const ready = get('Ready')
  return ready === undefined || ready.status === 'True' ? CURRENT : inProgress(ready.message)
}

/** Other kinds may omit a message, and a server does not validate unknown kinds. */
function conditionsOf(status: Record<string, unknown> | undefined): readonly Condition[] {
  const list = status?.['conditions']
  return Array.isArray(list) ? list.filter(isObject).map(conditionOf) : []
}

function conditionOf(condition: Readonly<Record<string, unknown>>): Condition {
  const [type, reason] = [textOf(condition['type']), textOf(condition['reason'])]
  const message = textOf(condition['message'])
  return { ...(condition as unknown as Condition), type, reason, message: message === '' ? reason || type : message }
}

type Judge = (object: KubeObject, status: Record<string, unknown>) => Health

const specOf = (o: KubeObject): Record<string, unknown> => (isObject(o['spec']) ? o['spec'] : {})

const conditionIs =
  (type: string, message: string): Judge =>
  (_, status) =>
    conditionsOf(status).some((c) => c.type === type && c.status === 'True') ? CURRENT : inProgress(message)

/** API servers omit zero counts: an absent count is zero, never equal to another count. */
const replicas: Judge = (object, status) => {
  const wanted = numberOr(specOf(object)['replicas'], 1)
  const stuck = conditionsOf(status).find((c) => c.reason === 'ProgressDeadlineExceeded')
  if (stuck !== undefined) return failed(stuck.message)
  if (numberOr(status['observedGeneration'], 0) < numberOr(object.metadata.generation, 0))
    return inProgress('its controller has not observed the latest spec yet')
  const ready = numberOr(status['availableReplicas'], 0)
  if (replacesItsPods(object)) {
    const updated = numberOr(status['updatedReplicas'], 0)
    if (updated < wanted) return inProgress(`${updated} of ${wanted} replicas are updated`)
    if (numberOr(status['replicas'], 0) > updated) return inProgress('old replicas are still running')
  }
  return ready < wanted ? inProgress(`${ready} of ${wanted} replicas are available`) : CURRENT
}

/** A ReplicaSet does not, nor does a StatefulSet that waits for people or keeps some of its pods. */
function replacesItsPods(object: KubeObject): boolean {
  if (object.kind !== 'StatefulSet') return object.kind === 'Deployment'
  const strategy = specOf(object)['updateStrategy']
  const rolling = isObject(strategy) ? strategy['rollingUpdate'] : undefined
  const partition = isObject(rolling) ? numberOr(rolling['partition'], 0) : 0
  return !(isObject(strategy) && strategy['type'] === 'OnDelete') && partition === 0
}

/** One that is not served also stops the deletion of namespaces there. */
const apiService: Judge = (_, status) => {
  const available = conditionsOf(status).find((c) => c.type === 'Available')
  return available?.status === 'True' ? CURRENT : inProgress(available?.message ?? 'not served yet')
}

/** With OnDelete the pods follow later, slice by slice. That is the machine controller's job, and no failure of the apply. */
const daemonSet: Judge = (object, status) => {
  if (numberOr(status['observedGeneration'], 0) < numberOr(object.metadata.generation, 0))
    return inProgress('its controller has not observed the latest spec yet')
  const wanted = numberOr(status['desiredNumberScheduled'], 0)
  const strategy = specOf(object)['updateStrategy']
  const isOnDelete = isObject(strategy) && strategy['type'] === 'OnDelete'
  const updated = isOnDelete ? wanted : numberOr(status['updatedNumberScheduled'], 0)
  if (updated < wanted) return inProgress(`${updated} of ${wanted} pods are updated`)
  const ready = numberOr(status['numberAvailable'], 0)
  return ready < wanted ? inProgress(`${ready} of ${wanted} pods are available`) : CURRENT
}

const job: Judge = (_, status) => {
  const conditions = conditionsOf(status)
  const lost = conditions.find((c) => c.type === 'Failed' && c.status === 'True')
  if (lost !== undefined) return failed(lost.message)
  return conditions.some((c) => c.type === 'Complete' && c.status === 'True')
    ? CURRENT
    : inProgress('the job is running')
}

const COMMON: Readonly<Record<string, Judge>> = {
  Deployment: replicas,
  StatefulSet: replicas,
  ReplicaSet: replicas,
  DaemonSet: daemonSet,
  Job: job,
  Pod: (object, status) =>
    status['phase'] === 'Failed'
      ? failed('the pod failed')
      : status['phase'] === 'Succeeded'
        ? CURRENT
        : conditionIs('Ready', 'the pod is not ready')(object, status),
  PersistentVolumeClaim: (_, status) => (status['phase'] === 'Bound' ? CURRENT : inProgress('not bound yet')),
  Namespace: (_, status) => (status['phase'] === 'Terminating' ? inProgress('terminating') : CURRENT),
  APIService: apiService,
  CustomResourceDefinition: conditionIs('Established', 'not served yet'),
}
