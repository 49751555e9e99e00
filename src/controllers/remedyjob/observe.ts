// Reads one job and its inputs: from the caches for every reconcile, and from the server before an action.
import { machine as machineType } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { drainPlan, podsOn } from '#nodes/drain.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { type ActiveRule, RuleBook } from '#nodes/faults/active-rule.ts'
import { FutureStamps } from '#nodes/faults/future-stamps.ts'
import { type NodeView, isAskable, nodeView } from '#nodes/faults/node-view.ts'
import { maintenanceText, standsOff } from '#nodes/faults/maintenance.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { judge } from '#nodes/faults/since.ts'
import type { Facts } from '#policy/reading.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { requireFresh } from '#runtime/informers.ts'
import type { ControllerContext } from '../module.ts'
import type { StepResult } from './actions.ts'
import type { FreeDevices } from './steps/free-devices.ts'
import { Heartbeats } from './verify/heartbeats.ts'
import { clearedReading } from './verify/cleared.ts'
import { BY_HOST_OF, BY_INCIDENT, BY_MACHINE, BY_NODE, BY_NODE_UID, type JobCaches } from './inputs/caches.ts'
import { ASKED_FOR_MS, FreshHolds } from './inputs/fresh-holds.ts'
import { type Operation, operationFacts } from '#api/protocol/operations.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { PeerFacts, namesOf } from './inputs/peer-facts.ts'
import { outdatedBy } from './inputs/outdated.ts'
import { type FaultReading, type JobStep, type Seen, nextOperation, phaseOf } from './seen.ts'

/** A mass fault reaches the caches within this time. It delays the repair of a single fault by as much. */
export const GATHER_MS = 1_000
/** Nodes read before a start: all of a small fleet, enough of a large one. */
const MOST_ASKED = 12
const NOBODY_ASKED: Seen['asked'] = { bad: 0, total: 0 }

interface Sample {
  readonly at: number
  readonly nodes: Promise<readonly Node[]>
  /** UIDs of the equally bad nodes, by rule: each rule is evaluated once on a sample. */
  readonly bad: Map<ActiveRule, ReadonlySet<string>>
}

/** Jobs whose first observation is remembered. Beyond that the oldest are dropped and observed a little longer. */
const MOST_REMEMBERED = 20_000

export class Observer {
  readonly #caches: JobCaches
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #random: Random
  readonly #book = new RuleBook()
  readonly #stamps = new FutureStamps()
  /** Monotonic, by job UID, so that no other machine's clock matters. */
  readonly #firstSeen = new Map<string, number>()
  readonly #begun = new Map<string, Set<string>>()
  /** By the selector of the rules that use it. */
  readonly #samples = new Map<string, Sample>()
  readonly #peers: PeerFacts
  readonly #heartbeats: Heartbeats
  readonly #holds: FreshHolds
  readonly #free: Pick<FreeDevices, 'has'>

  constructor(
    caches: JobCaches,
    { client, clock, random }: Pick<ControllerContext, 'client' | 'clock' | 'random'>,
    free: Pick<FreeDevices, 'has'>,
  ) {
    this.#free = free
    this.#caches = caches
    this.#client = client
    this.#clock = clock
    this.#random = random
    this.#peers = new PeerFacts(caches, (node) => this.#view(node))
    this.#heartbeats = new Heartbeats(client)
    this.#holds = new FreshHolds(client, clock)
  }

  async observe(name: string): Promise<Seen | undefined> {
    const { jobs, permits, nodes, machines, remediers, revisions, holds, maintenance, machineSets, contents } =
      this.#caches
    requireFresh([
      jobs,
      permits,
      nodes,
      machines,
      remediers,
      revisions,
      holds,
      maintenance,
      machineSets,
      ...contents.caches,
    ])
    const job = jobs.get(name)
    if (job === undefined) return undefined
    const remedier = remediers.get(job.spec.remedierRef.name)
    return this.#seen(job, {
      permit: permits.get(job.status?.permitRef ?? name),
      node: nodes.get(job.spec.node.name),
      machine: job.spec.machine === undefined ? undefined : machines.get(job.spec.machine),
      remedier,
      isFresh: false,
      asked: NOBODY_ASKED,
      isReporting: await this.#isReporting(job, remedier),
    })
  }

  /** The same, with everything that can allow an action as the server has it now. */
  async observeFresh(name: string, signal: AbortSignal): Promise<Seen | undefined> {
    const get = { signal }
    const cached = this.#caches.jobs.get(name)
    const readPermit = (of: RemedyOperationJob | undefined) =>
      this.#client.get(operationPermit, { name: of?.status?.permitRef ?? name }, get)
    const readNode = (of: RemedyOperationJob) => this.#client.get(nodeType, { name: of.spec.node.name }, get)
    const mayStart = cached !== undefined && phaseOf(cached) === 'AwaitingPermit'
    // All at once, by the cached names. Objects that turn out to be different are read again.
    const [job, permitRead, nodeRead] = await Promise.all([
      this.#client.get(remedyOperationJob, { name }, get),
      readPermit(cached),
      cached === undefined || mayStart ? undefined : readNode(cached),
      mayStart ? this.#askAround(cached, this.#caches.remediers.get(cached.spec.remedierRef.name), signal) : undefined,
    ])
    if (job === undefined) return undefined
    const isSame = (of: (j: RemedyOperationJob) => unknown) => cached !== undefined && of(cached) === of(job)
    const permit = isSame((j) => j.status?.permitRef) ? permitRead : await readPermit(job)
    const next = nextOperation(job)
    const operation = next === undefined ? undefined : job.spec.operations[next]
    const isStart = phaseOf(job) === 'AwaitingPermit'
    if (isStart && !mayStart) await this.#askAround(job, this.#caches.remediers.get(job.spec.remedierRef.name), signal)
    const isRead = nodeRead !== undefined && !isStart && isSame((j) => j.spec.node.name)
    // The node that is about to be repaired is read last: it may change while the others are read.
    const [[machine, remedier], node, between] = await Promise.all([
      this.#readOthers(job, operation, signal),
      isRead ? nodeRead : readNode(job),
      // A hold that the cache has missed must also stop the next step.
      phaseOf(job) === 'Running' ? this.#holds.now(signal) : undefined,
    ])
    const { asked, holds } = isStart
      ? await this.#askAround(job, remedier, signal)
      : { asked: NOBODY_ASKED, holds: between }
    const isReporting = await this.#isReporting(job, remedier)
    const read = { permit, node, machine, remedier, isFresh: true, asked, isReporting, ...defined({ holds }) }
    const seen = this.#seen(job, read)
    if (job.spec.dryRun && phaseOf(job) !== 'Done') return { ...seen, ...(await this.#podsOf(job, signal)) }
    return operation?.drain === undefined ? seen : { ...seen, hasPods: await this.hasPods(seen, signal) }
  }

  /** While central steps run on the node alone, Machine and rule decide nothing, so the caches are enough. */
  async #readOthers({ spec, status }: RemedyOperationJob, operation: Operation | undefined, signal: AbortSignal) {
    const { machines, remediers } = this.#caches
    const isOnNode = operation !== undefined && operationFacts(operation)?.needsHost === false
    if (status?.phase === 'Running' && isOnNode)
      return [
        spec.machine === undefined ? undefined : machines.get(spec.machine),
        remediers.get(spec.remedierRef.name),
      ] as const
    return Promise.all([
      spec.machine === undefined ? undefined : this.#client.get(machineType, { name: spec.machine }, { signal }),
      this.#client.get(nodeRemedier, { name: spec.remedierRef.name }, { signal }),
    ])
  }

  /** After our own write: the job as returned by the server, everything else as read just before. */
  async goOn(seen: Seen, job: RemedyOperationJob, signal: AbortSignal): Promise<Seen> {
    const next = { ...seen, job, begun: this.#begun.get(uidOf(job)) ?? new Set<string>() }
    const index = nextOperation(job)
    const isDrain = index !== undefined && job.spec.operations[index]?.drain !== undefined
    return isDrain && seen.hasPods === undefined ? { ...next, hasPods: await this.hasPods(seen, signal) } : next
  }

  /** A successful step may be followed by a drain. The same write then includes whether there are pods to drain. */
  async readAhead(
    seen: Seen,
    result: { readonly step: JobStep; readonly went: StepResult } | undefined,
    signal: AbortSignal,
  ): Promise<Seen> {
    const isNext =
      result?.went.outcome === 'Succeeded' && seen.job.spec.operations[result.step.index + 1]?.drain !== undefined
    return isNext ? { ...seen, hasPods: await this.hasPods(seen, signal) } : seen
  }

  /** The rule as declared in git, even if a user has edited it. */
  #active(remedier: NodeRemedier | undefined): ActiveRule | undefined {
    if (remedier === undefined) return undefined
    const { contents, revisions } = this.#caches
    const { object, isHeld } = contents.view(remedier, this.#clock.now())
    return this.#book.read(object, revisions.list(), isHeld).active
  }

  /** If a probe decides, it must have run after the repair. */
  async #isReporting(job: RemedyOperationJob, remedier: NodeRemedier | undefined): Promise<boolean> {
    if (phaseOf(job) !== 'Verifying') return true
    const active = this.#active(remedier)
    const wantsProbe = active?.spec.ladder[job.spec.rung]?.verify.probe !== undefined
    return !wantsProbe || this.#heartbeats.isReporting(job)
  }

  /** The other inputs of a start. Read once for all jobs that start at about the same time. */
  async #askAround(
    job: RemedyOperationJob,
    remedier: NodeRemedier | undefined,
    signal: AbortSignal,
  ): Promise<Pick<Seen, 'asked' | 'holds'>> {
    const [asked, holds] = await Promise.all([this.#ask(job, remedier, signal), this.#holds.now(signal)])
    return { asked, holds }
  }

  /** Of a dry run that drains. */
  async #podsOf({ spec }: RemedyOperationJob, signal: AbortSignal): Promise<Pick<Seen, 'pods'>> {
    if (!spec.operations.some((o) => o.drain !== undefined)) return {}
    const listed = await outcomeOf(() => podsOn(this.#client, spec.node.name, signal))
    return listed.kind === 'Applied' ? { pods: listed.object } : {}
  }

  /** If pods cannot be read, assume there are some. */
  async hasPods({ job }: Pick<Seen, 'job'>, signal: AbortSignal): Promise<boolean> {
    const listed = await outcomeOf(() => podsOn(this.#client, job.spec.node.name, signal))
    if (listed.kind !== 'Applied') return true
    const { evict, going, kept } = drainPlan(listed.object)
    return evict.length + going.length + kept.length > 0
  }

  /** A cache that missed events hides a mass fault. A few random nodes read directly do not. */
  async #ask(job: RemedyOperationJob, remedier: NodeRemedier | undefined, signal: AbortSignal): Promise<Seen['asked']> {
    const active = this.#active(remedier)
    if (active === undefined) return NOBODY_ASKED
    const key = JSON.stringify(active.spec.nodeSelector ?? null)
    const at = this.#clock.monotonic()
    this.#forgetSamples(at)
    const sample = this.#samples.get(key) ?? {
      at,
      nodes: this.#sample(active, job.spec.node.uid, signal),
      bad: new Map<ActiveRule, ReadonlySet<string>>(),
    }
    this.#samples.set(key, sample)
    try {
      const nodes = await sample.nodes
      const now = this.#clock.now()
      const bad = sample.bad.get(active) ?? new Set(nodes.filter((n) => this.#isAsBad(n, active, now)).map(uidOf))
      sample.bad.set(active, bad)
      const others = nodes.map(uidOf).filter((uid) => uid !== job.spec.node.uid)
      return { bad: others.filter((uid) => bad.has(uid)).length, total: others.length }
    } catch (error) {
      if (this.#samples.get(key) === sample) this.#samples.delete(key)
      throw error
    }
  }

  #forgetSamples(now: number): void {
    for (const [key, { at }] of this.#samples) if (now - at >= ASKED_FOR_MS) this.#samples.delete(key)
  }

  #isAsBad(node: Node, active: ActiveRule, now: number): boolean {
    const view = this.#view(node)
    return view.standing.kind === 'Silent' || this.#fault(view, active, now).kind === 'Present'
  }

  async #sample(active: ActiveRule, butUid: string, signal: AbortSignal): Sample['nodes'] {
    const others = this.#caches.nodes
      .list()
      .filter((n) => n.metadata.uid !== butUid && active.selects(n.metadata.labels))
    const picked = pickSome(others, MOST_ASKED, this.#random)
    const read = picked.map((cached) => this.#client.get(nodeType, { name: nameOf(cached) }, { signal }))
    return (await Promise.all(read)).filter((n) => n !== undefined)
  }

  #view(node: Node): NodeView {
    const [machine] = this.#caches.machines.byIndex(BY_NODE_UID, uidOf(node))
    return nodeView(node, machine)
  }

  /** This process recorded the attempt and will do it. Another process that finds it recorded does not know whether it was done. */
  noteBegun(job: RemedyOperationJob, attempt: string): void {
    const known = this.#begun.get(uidOf(job)) ?? new Set<string>()
    this.#begun.set(uidOf(job), known.add(attempt))
  }

  noteDone(job: RemedyOperationJob, attempt: string): void {
    this.#begun.get(uidOf(job))?.delete(attempt)
  }

  #seen(
    job: RemedyOperationJob,
    {
      isReporting,
      holds = this.#caches.holds.list(),
      ...read
    }: Pick<Seen, 'permit' | 'node' | 'machine' | 'remedier' | 'isFresh' | 'asked'> &
      Partial<Pick<Seen, 'holds'>> & { readonly isReporting: boolean },
  ): Seen {
    const { jobs } = this.#caches
    const { node, machine, remedier } = read
    const view = node === undefined ? undefined : nodeView(node, machine)
    const active = this.#active(remedier)
    const now = this.#clock.now()
    const before = jobs.byIndex(BY_NODE, job.spec.node.uid).filter((j) => nameOf(j) !== nameOf(job))
    const fault = this.#fault(view, active, now, before)
    const near = [
      ...(job.spec.machine === undefined ? [] : jobs.byIndex(BY_MACHINE, job.spec.machine)),
      ...jobs.byIndex(BY_INCIDENT, job.spec.incident),
    ]
    const known =
      job.spec.machine === undefined
        ? undefined
        : this.#caches.maintenance.byIndex(BY_HOST_OF, job.spec.machine).find((e) => standsOff(e))
    return {
      job,
      ...read,
      ...(known !== undefined && { maintained: maintenanceText(known) }),
      ...defined({ outdated: outdatedBy(job, active) }),
      standing: view?.standing ?? { kind: 'Leaving', why: 'the Node was deleted' },
      fault,
      cleared:
        view === undefined || active === undefined
          ? fault
          : clearedReading({ job, view, active, fault, isReporting }, now),
      holds,
      machineSets: this.#caches.machineSets,
      others: [...new Map(near.map((j) => [nameOf(j), j])).values()].filter((j) => nameOf(j) !== nameOf(job)),
      isRipe: this.#isRipe(job),
      hasPods: undefined,
      mayHoldDevices: !this.#free.has(uidOf(job)) && [job, ...near].some((j) => hasIsolated(j, job)),
      begun: this.#begun.get(uidOf(job)) ?? new Set(),
    }
  }

  #isRipe(job: RemedyOperationJob): boolean {
    const uid = uidOf(job)
    if (phaseOf(job) === 'Done') {
      this.#firstSeen.delete(uid)
      this.#begun.delete(uid)
      this.#heartbeats.forget(job)
      return true
    }
    const now = this.#clock.monotonic()
    const first = this.#firstSeen.get(uid) ?? now
    if (!this.#firstSeen.has(uid)) this.#firstSeen.set(uid, first)
    const [oldest] = this.#firstSeen.keys()
    if (this.#firstSeen.size > MOST_REMEMBERED && oldest !== undefined) this.#firstSeen.delete(oldest)
    return now - first >= GATHER_MS
  }

  #fault(
    view: NodeView | undefined,
    active: ActiveRule | undefined,
    now: number,
    before: readonly RemedyOperationJob[] = [],
  ): FaultReading {
    if (active === undefined) return { kind: 'Gone' }
    if (view === undefined) return { kind: 'Unknown', why: 'the Node was deleted' }
    const { standing } = view
    if (standing.kind === 'Leaving' || !isAskable(view, active.rule))
      return { kind: 'Unknown', why: standing.kind === 'Readable' ? 'the rule cannot be evaluated' : standing.why }
    if (!active.selects(view.node.metadata.labels)) return { kind: 'Absent', since: undefined }
    const { verdict, since, isDated } = judge(active.rule.root, this.#factsFor(view, active.rule, before, now), now)
    if (verdict === 'true') return { kind: 'Present' }
    if (verdict === 'unknown') return { kind: 'Unknown', why: 'the inputs of the rule are unknown' }
    return { kind: 'Absent', since: isDated ? since : undefined }
  }

  /** Facts about other nodes are gathered only for a rule that reads them. */
  #factsFor(view: NodeView, rule: CompiledRule, before: readonly RemedyOperationJob[], now: number): Facts {
    const names = namesOf(rule)
    const speaksOf = (fact: string) => names.has(fact)
    const facts = this.#stamps.settle(view.uid, view.facts, now)
    if (!speaksOf('peers') && !speaksOf('cluster') && !speaksOf('repairs')) return facts
    return {
      ...facts,
      ...(speaksOf('peers') && { peers: this.#peers.now().of(view) }),
      ...(speaksOf('cluster') && { cluster: this.#peers.now().cluster() }),
      // The count before this repair: the repair must not make its own rule false.
      ...(speaksOf('repairs') && { repairs: repairsFact(before, now) }),
    }
  }
}

const hasIsolated = ({ spec, status }: RemedyOperationJob, of: RemedyOperationJob): boolean =>
  spec.incident === of.spec.incident &&
  status?.steps?.some((s) => s.operation === 'isolateDevice' && s.startedAt !== undefined) === true

function pickSome<T>(list: readonly T[], most: number, random: Random): readonly T[] {
  const rest = [...list]
  const picked: T[] = []
  while (picked.length < most && rest.length > 0) picked.push(...rest.splice(random.below(rest.length), 1))
  return picked
}
