// Reads one event and its inputs from the caches. Pods are read from the server, and only while their node is being drained for the event.
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isBeingDeleted, nameOf } from '#api/schema/object-meta.ts'
import { isOver, phaseOfEvent } from '#nodes/faults/maintenance.ts'
import type { KubeClient } from '#kube/client.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { drainPlan, podsOn } from '#nodes/drain.ts'
import { withJobWishes } from '#nodes/job-wishes.ts'
import { type Pod, nodeType } from '#nodes/objects.ts'
import type { EndedPermits } from '#permits/ended-for.ts'
import { isOpen, permitAnswer } from '#permits/permits.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { ABSENT_POLLS, isVerifyOver, isWell } from './plan-facts.ts'
import { isReported } from './notices/reported.ts'
import { twinOf } from './polls/plan.ts'
import { percentile95 } from './plan-schedule.ts'
import { type Seen, claimsOn, cordonOwner, isKept } from './seen.ts'
import { policyOf } from './plan-policy.ts'
import { timeOf } from './notices/time-of.ts'
import { defined } from '#lib/defined.ts'

/** Phases in which the node is being drained. */
const DRAINED_IN: ReadonlySet<string> = new Set(['Preparing', 'InProgress'])
/** Ended events kept across all machines: a few megabytes. */
const MOST_ENDED = 2_000

const BY_HOST = 'hostdoctor/host'
const BY_REQUESTER = 'hostdoctor/requester'
export const BY_MACHINE = 'hostdoctor/machine'
/** Index: Nodes by the events they are cordoned for. */
export const BY_CLAIM = 'hostdoctor/claim'
const JOBS_OF_MACHINE = 'hostdoctor/jobs'

export const cachesOf = (informers: Informers) => ({
  events: informers.of(maintenanceEvent, { indexes: { [BY_MACHINE]: (e) => [e.spec.machine] } }),
  machines: informers.of(machineType, {
    indexes: { [BY_HOST]: ({ spec }) => (spec.providerID === undefined ? [] : [spec.providerID]) },
  }),
  nodes: informers.of(nodeType, { indexes: { [BY_CLAIM]: claimsOn } }),
  permits: informers.of(operationPermit, {
    indexes: { [BY_REQUESTER]: ({ spec: { requester } }) => (requester.uid === undefined ? [] : [requester.uid]) },
  }),
  policies: informers.of(defenderPolicy),
  jobs: informers.of(remedyOperationJob, {
    indexes: { [JOBS_OF_MACHINE]: (j) => (j.spec.machine === undefined ? [] : [j.spec.machine]) },
  }),
})

export type DoctorCaches = ReturnType<typeof cachesOf>

export const freshen = (caches: DoctorCaches): void => requireFresh(Object.values(caches))

/** Two Machines with one host are a user error. In that case the host belongs to neither. */
export function machineOnHost({ machines }: DoctorCaches, providerID: string): Machine | undefined {
  const found = machines.byIndex(BY_HOST, providerID)
  return found.length === 1 ? found[0] : undefined
}

export interface ObserveOptions {
  readonly client: KubeClient
  readonly caches: DoctorCaches
  readonly absentPolls: (event: string) => number
  /** A provider lists it. */
  readonly isListed: (event: string) => boolean
  /** Its provider was asked about it, or does not answer, or is never asked. */
  readonly isConfirmed: (event: string, source: string) => boolean
  readonly ended: EndedPermits
  readonly now: number
}

export async function observe(options: ObserveOptions, name: string, signal: AbortSignal): Promise<Seen | undefined> {
  const { client, caches, now } = options
  freshen(caches)
  const event = caches.events.get(name)
  if (event === undefined || (isBeingDeleted(event) && !isKept(event))) return undefined
  const known = machineOf(caches, event)
  // The Node of a deleted machine keeps our taint for a short time.
  const nodeName = known === undefined ? event.spec.machine : nodeNameOf(known)
  const cached = { machine: known, node: caches.nodes.get(nodeName) }
  const { machine, node } = isGivenUp(event, cached, now) ? await fromServer(client, event, nodeName, signal) : cached
  const policy = policyOf(machine === undefined ? [] : policiesOf(caches), machine ?? NO_MACHINE, node)
  const pods =
    node !== undefined && DRAINED_IN.has(phaseOfEvent(event)) && isCordonedBy(node, cordonOwner(event))
      ? await podsLeft(client, node.metadata.name ?? '', { mayWait: policy.podWaitMs > 0, signal })
      : undefined
  const twin = twinOf(event, caches.events.byIndex(BY_MACHINE, event.spec.machine))
  const permit = caches.permits.get(event.status?.permitRef ?? name)
  const requested = caches.permits.byIndex(BY_REQUESTER, event.metadata.uid ?? '')
  return {
    event,
    ...defined({ twin }),
    machine,
    node,
    permit,
    endedFor: options.ended.observe(
      event.metadata.uid ?? '',
      requested.filter((p) => permitAnswer(p, machine?.metadata.uid ?? '').kind === 'Ended'),
    ),
    strays: requested.filter((p) => p !== permit && isOpen(p)),
    hasPods: pods && pods.length > 0,
    ...defined({ pods }),
    absentPolls: await absence(options, event, known, signal),
    isConfirmed: options.isConfirmed(name, event.spec.source),
    policy,
    drainP95Ms: drainP95(caches, machine),
    runningJob: caches.jobs
      .byIndex(JOBS_OF_MACHINE, event.spec.machine)
      .find(({ status, spec }) => !spec.dryRun && (status?.phase === 'Running' || status?.phase === 'Verifying'))
      ?.metadata.name,
    isSurplus: isOver(event) && isAmongOldest(caches.events.list(), event),
  }
}

/**
 * An agent drops an event only after two readings without it. An event that the agent still lists is not absent, even if the provider's list lacks
 * it.
 */
async function absence(
  options: ObserveOptions,
  event: MaintenanceEvent,
  cached: Machine | undefined,
  signal: AbortSignal,
) {
  const { client, absentPolls, isListed } = options
  const isOfAgent = event.spec.source === METADATA
  let isStillReported = isReported(event, cached)
  // The cached Machine may be older than an event created from its report. In that case read the agent's list from the server.
  if (isStillReported === false && isOfAgent && !isOver(event) && cached !== undefined)
    isStillReported = isReported(event, await client.get(machineType, { name: cached.metadata.name ?? '' }, { signal }))
  if (isStillReported === true || isListed(nameOf(event))) return 0
  if (!isOfAgent) return absentPolls(nameOf(event))
  return isStillReported === false ? ABSENT_POLLS : 0
}

const NO_MACHINE = { metadata: {}, spec: {} } as Machine

const policiesOf = ({ policies }: DoctorCaches): readonly DefenderPolicy[] => policies.list()

type Patient = Pick<Seen, 'machine' | 'node'>

/** Only the server's answer can give up a machine: a dead watch shows it as it was before the work. */
const isGivenUp = (event: MaintenanceEvent, patient: Patient, now: number): boolean =>
  phaseOfEvent(event) === 'Verifying' && isVerifyOver(event, now) && !isWell(patient)

async function fromServer(
  client: KubeClient,
  event: MaintenanceEvent,
  node: string,
  signal: AbortSignal,
): Promise<Patient> {
  const [machine, read] = await Promise.all([
    client.get(machineType, { name: event.spec.machine }, { signal }),
    client.get(nodeType, { name: node }, { signal }),
  ])
  return { machine: onItsHost(machine, event), node: read }
}

const machineOf = ({ machines }: DoctorCaches, event: MaintenanceEvent): Machine | undefined =>
  onItsHost(machines.get(event.spec.machine), event)

/** Another host with the name is another machine. */
function onItsHost(machine: Machine | undefined, { spec }: MaintenanceEvent): Machine | undefined {
  const id = spec.host?.id
  return id === undefined || machine?.spec.providerID === undefined || machine.spec.providerID === id
    ? machine
    : undefined
}

async function podsLeft(
  client: KubeClient,
  node: string,
  { mayWait, signal }: { readonly mayWait: boolean; readonly signal: AbortSignal },
): Promise<readonly Pod[]> {
  const { evict, going, kept } = drainPlan(await podsOn(client, node, signal))
  return withJobWishes(client, [...evict, ...going, ...kept], mayWait, signal)
}

/** From the drains of all kept events: a month of the pool. */
function drainP95({ events, machines }: DoctorCaches, machine: Machine | undefined): number | undefined {
  const pool = machine?.spec.pool ?? ''
  const durations = events.list().flatMap(({ spec, status }) => {
    const [from, to] = [timeOf(status?.drainStartedAt), timeOf(status?.drainedAt)]
    if (from === undefined || to === undefined || to < from) return []
    return (machines.get(spec.machine)?.spec.pool ?? '') === pool ? [to - from] : []
  })
  return percentile95(durations)
}

function isAmongOldest(events: readonly MaintenanceEvent[], event: MaintenanceEvent): boolean {
  const ended = events.filter(isOver)
  if (ended.length <= MOST_ENDED) return false
  const at = (e: MaintenanceEvent) => `${e.status?.endedAt ?? ''} ${nameOf(e)}`
  const own = at(event)
  return ended.filter((e) => at(e) > own).length >= MOST_ENDED
}
