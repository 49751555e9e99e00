// Reads one job and what it rests on: from the caches for every look, and from the server for what lets something happen.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Node, nodeType } from '#nodeops/objects.ts'
import {
  type ActiveRule,
  type ControllerRevision,
  RuleBook,
  controllerRevisionType,
} from '#nodeops/rules/active-rule.ts'
import { type NodeView, nodeView } from '#nodeops/rules/node-view.ts'
import { Peers } from '#nodeops/rules/peers.ts'
import { judge } from '#nodeops/rules/since.ts'
import { ageMs } from '#policy/reading.ts'
import type { Term } from '#policy/rule.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import type { ControllerContext } from '../module.ts'
import { type FaultReading, type Seen, nameOf, phaseOf, uidOf } from './seen.ts'

export interface JobCaches {
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly permits: SharedInformer<OperationPermit>
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly remediers: SharedInformer<NodeRemedier>
  readonly revisions: SharedInformer<ControllerRevision>
  readonly holds: SharedInformer<OperationalHold>
}

export const BY_NODE = 'remedyjob/node'
export const BY_MACHINE = 'remedyjob/machine'
export const BY_RULE = 'remedyjob/rule'
const BY_INCIDENT = 'remedyjob/incident'

export const cachesOf = (informers: Informers): JobCaches => ({
  jobs: informers.of(remedyOperationJob, {
    indexes: {
      [BY_NODE]: (j) => [j.spec.node.uid],
      [BY_MACHINE]: (j) => (j.spec.machine === undefined ? [] : [j.spec.machine]),
      [BY_RULE]: (j) => [j.spec.remedierRef.name],
      [BY_INCIDENT]: (j) => [j.spec.incident],
    },
  }),
  permits: informers.of(operationPermit),
  nodes: informers.of(nodeType),
  machines: informers.of(machineType),
  remediers: informers.of(nodeRemedier),
  revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
  holds: informers.of(operationalHold),
})

/** A mass fault reaches the caches within this time; an isolated one is repaired this much later. */
export const GATHER_MS = 1_000
/** Nodes that are read before a start: all of a small fleet, enough of a large one. */
const MOST_ASKED = 12
const NOBODY_ASKED: Seen['asked'] = { bad: 0, total: 0 }

/** Jobs whose first sight is remembered; the oldest give way and are watched a moment longer. */
const MOST_REMEMBERED = 20_000

export class Observer {
  readonly #caches: JobCaches
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #random: Random
  readonly #book = new RuleBook()
  /** Monotonic, by job UID: no clock of another machine decides about this. */
  readonly #firstSeen = new Map<string, number>()
  readonly #begun = new Map<string, Set<string>>()

  constructor(caches: JobCaches, { client, clock, random }: Pick<ControllerContext, 'client' | 'clock' | 'random'>) {
    this.#caches = caches
    this.#client = client
    this.#clock = clock
    this.#random = random
  }

  async observe(name: string): Promise<Seen | undefined> {
    const { jobs, permits, nodes, machines, remediers, revisions, holds } = this.#caches
    requireFresh([jobs, permits, nodes, machines, remediers, revisions, holds])
    const job = jobs.get(name)
    if (job === undefined) return undefined
    return this.#seen(job, {
      permit: permits.get(job.status?.permitRef ?? name),
      node: nodes.get(job.spec.node.name),
      machine: job.spec.machine === undefined ? undefined : machines.get(job.spec.machine),
      remedier: remediers.get(job.spec.remedierRef.name),
      isFresh: false,
      asked: NOBODY_ASKED,
    })
  }

  /** The same, each object as the server has it now. */
  async observeFresh(name: string, signal: AbortSignal): Promise<Seen | undefined> {
    const job = await this.#client.get(remedyOperationJob, { name }, { signal })
    if (job === undefined) return undefined
    const get = { signal }
    const [permit, node, machine, remedier] = await Promise.all([
      this.#client.get(operationPermit, { name: job.status?.permitRef ?? name }, get),
      this.#client.get(nodeType, { name: job.spec.node.name }, get),
      job.spec.machine === undefined ? undefined : this.#client.get(machineType, { name: job.spec.machine }, get),
      this.#client.get(nodeRemedier, { name: job.spec.remedierRef.name }, get),
    ])
    const asked = phaseOf(job) === 'AwaitingPermit' ? await this.#ask(job, remedier, signal) : NOBODY_ASKED
    return this.#seen(job, { permit, node, machine, remedier, isFresh: true, asked })
  }

  /** A cache that missed its events hides a mass fault; a few nodes picked at random and read directly do not. */
  async #ask(job: RemedyOperationJob, remedier: NodeRemedier | undefined, signal: AbortSignal): Promise<Seen['asked']> {
    const { nodes, machines, revisions } = this.#caches
    const active = remedier && this.#book.read(remedier, revisions.list()).active
    const others = nodes
      .list()
      .filter((n) => n.metadata.uid !== job.spec.node.uid && active?.selects(n.metadata.labels) === true)
    const picked = pickSome(
      others.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
      MOST_ASKED,
      this.#random,
    )
    const byNode = new Map(machines.list().map((m) => [m.status?.nodeRef?.uid, m]))
    const now = this.#clock.now()
    const readings = await Promise.all(
      picked.map(async (cached) => {
        const node = await this.#client.get(nodeType, { name: nameOf(cached) }, { signal })
        if (node === undefined) return []
        const { kind } = this.#fault(nodeView(node, byNode.get(uidOf(node))), active, now)
        const isBad = kind === 'Present' || nodeView(node, undefined).standing.kind === 'Silent'
        return [isBad]
      }),
    )
    const told = readings.flat()
    return { bad: told.filter(Boolean).length, total: told.length }
  }

  /** This process wrote the attempt down and will do it; any other that finds it written does not know whether it was done. */
  noteBegun(job: RemedyOperationJob, attempt: string): void {
    const known = this.#begun.get(uidOf(job)) ?? new Set<string>()
    this.#begun.set(uidOf(job), known.add(attempt))
  }

  noteDone(job: RemedyOperationJob, attempt: string): void {
    this.#begun.get(uidOf(job))?.delete(attempt)
  }

  #seen(
    job: RemedyOperationJob,
    read: Pick<Seen, 'permit' | 'node' | 'machine' | 'remedier' | 'isFresh' | 'asked'>,
  ): Seen {
    const { jobs, revisions, holds } = this.#caches
    const { node, machine, remedier } = read
    const view = node === undefined ? undefined : nodeView(node, machine)
    const active = remedier === undefined ? undefined : this.#book.read(remedier, revisions.list()).active
    const now = this.#clock.now()
    const fault = this.#fault(view, active, now)
    const near = [
      ...(job.spec.machine === undefined ? [] : jobs.byIndex(BY_MACHINE, job.spec.machine)),
      ...jobs.byIndex(BY_INCIDENT, job.spec.incident),
    ]
    return {
      job,
      ...read,
      standing: view?.standing ?? { kind: 'Leaving', why: 'the Node is gone' },
      fault,
      cleared: view === undefined || active === undefined ? fault : clearedReading(job, view, active, fault, now),
      holds: holds.list(),
      others: [...new Map(near.map((j) => [nameOf(j), j])).values()].filter((j) => nameOf(j) !== nameOf(job)),
      isRipe: this.#isRipe(job),
      begun: this.#begun.get(uidOf(job)) ?? new Set(),
    }
  }

  #isRipe(job: RemedyOperationJob): boolean {
    const uid = uidOf(job)
    if (phaseOf(job) === 'Done') {
      this.#firstSeen.delete(uid)
      this.#begun.delete(uid)
      return true
    }
    const now = this.#clock.monotonic()
    const first = this.#firstSeen.get(uid) ?? now
    if (!this.#firstSeen.has(uid)) this.#firstSeen.set(uid, first)
    const [oldest] = this.#firstSeen.keys()
    if (this.#firstSeen.size > MOST_REMEMBERED && oldest !== undefined) this.#firstSeen.delete(oldest)
    return now - first >= GATHER_MS
  }

  #fault(view: NodeView | undefined, active: ActiveRule | undefined, now: number): FaultReading {
    if (active === undefined) return { kind: 'Gone' }
    if (view === undefined) return { kind: 'Unknown', why: 'the Node is gone' }
    const { standing } = view
    if (standing.kind !== 'Readable') return { kind: 'Unknown', why: standing.why }
    if (!active.selects(view.node.metadata.labels)) return { kind: 'Absent', since: undefined }
    const { verdict, since, isDated } = judge(active.rule.root, this.#factsFor(view, active.rule.root), now)
    if (verdict === 'true') return { kind: 'Present' }
    if (verdict === 'unknown') return { kind: 'Unknown', why: 'what the rule looks at is not known' }
    return { kind: 'Absent', since: isDated ? since : undefined }
  }

  /** Peers are counted only for a rule that asks for them. */
  #factsFor(view: NodeView, term: Term) {
    if (!mentionsPeers(term)) return view.facts
    const { nodes, machines } = this.#caches
    const byNode = new Map(
      machines.list().flatMap((m) => (m.status?.nodeRef === undefined ? [] : [[m.status.nodeRef.uid, m] as const])),
    )
    const views = nodes
      .list()
      .map((n) => (n.metadata.uid === view.uid ? view : nodeView(n, byNode.get(n.metadata.uid ?? ''))))
    return { ...view.facts, peers: new Peers(views).of(view) }
  }
}

function mentionsPeers(term: Term): boolean {
  if (term.kind === 'not') return mentionsPeers(term.child)
  if (term.kind !== 'leaf') return term.children.some(mentionsPeers)
  return term.place.fact === 'peers'
}

/** What the rung says must be seen: a condition gone, or the rule false; and a component healthy, where it names one. */
function clearedReading(
  job: RemedyOperationJob,
  view: NodeView,
  active: ActiveRule,
  fault: FaultReading,
  now: number,
): FaultReading {
  const verify = active.spec.ladder[job.spec.rung]?.verify
  const type = verify?.conditionCleared
  const byCondition =
    type === undefined || view.standing.kind !== 'Readable' ? fault : conditionReading(view, type, now)
  const component = verify?.probe?.component
  if (byCondition.kind !== 'Absent' || component === undefined) return byCondition
  const status = view.machine?.status?.components?.find((c) => c.name === component)
  if (status === undefined) return { kind: 'Unknown', why: `component ${component} is not reported` }
  return status.state === 'Healthy' ? byCondition : { kind: 'Present' }
}

function conditionReading(view: NodeView, type: string, now: number): FaultReading {
  const condition = findCondition(view.node.status?.conditions, type)
  if (condition?.status === 'True') return { kind: 'Present' }
  if (condition?.status !== 'False')
    return { kind: 'Unknown', why: `${type} is ${condition?.status ?? 'not reported'}` }
  const age = ageMs(condition.lastTransitionTime, now)
  return { kind: 'Absent', since: age === undefined ? undefined : now - age }
}

function pickSome<T>(list: readonly T[], most: number, random: Random): readonly T[] {
  const rest = [...list]
  const picked: T[] = []
  while (picked.length < most && rest.length > 0) picked.push(...rest.splice(random.below(rest.length), 1))
  return picked
}
