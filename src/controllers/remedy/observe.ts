// Reads rules, nodes and jobs from the caches and evaluates the rules for what changed. Throws while a cache is incomplete or silent: a controller
// that cannot see does nothing.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { CommittedContents } from '#declared/committed.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import {
  type ControllerRevision,
  type RuleReading,
  RuleBook,
  controllerRevisionType,
  remedierOf,
} from '#nodes/faults/active-rule.ts'
import { maintainedBy, standsOff } from '#nodes/faults/maintenance.ts'
import { type NodeView, nodeUidOf, nodeView } from '#nodes/faults/node-view.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { MAX_RULES } from '#policy/limits.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import { History } from './repairs/history.ts'
import { JobLedger } from './repairs/ledger.ts'
import type { RemedyMetrics } from './metrics.ts'
import { type News, newsOf, newsOfJob } from './verdicts/changes.ts'
import { needsOf } from './verdicts/rule-needs.ts'
import type { Seen } from './seen.ts'
import { VerdictBook } from './verdicts/verdict-book.ts'

export interface RemedyCaches {
  readonly remediers: SharedInformer<NodeRemedier>
  readonly revisions: SharedInformer<ControllerRevision>
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly holds: SharedInformer<OperationalHold>
  readonly maintenance: SharedInformer<MaintenanceEvent>
  readonly contents: CommittedContents
}

const BY_NODE = 'remedy/node'

export const cachesOf = (informers: Informers): RemedyCaches => ({
  remediers: informers.of(nodeRemedier),
  revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
  nodes: informers.of(nodeType),
  machines: informers.of(machineType, { indexes: { [BY_NODE]: nodeUidOf } }),
  jobs: informers.of(remedyOperationJob),
  holds: informers.of(operationalHold),
  maintenance: informers.of(maintenanceEvent),
  contents: CommittedContents.of(informers),
})

/** State kept between reconciles; all of it can be rebuilt from the caches. */
export class Observer {
  readonly jobs: JobLedger
  readonly #caches: RemedyCaches
  readonly #metrics: RemedyMetrics
  readonly #book = new RuleBook()
  readonly #verdicts: VerdictBook
  /** Names of nodes that changed since the last reconcile. */
  #changed = new Set<string>()
  /** Names of nodes whose repairs changed: an input for rules that read it. */
  readonly #worked = new Set<string>()

  /** Names of jobs whose next event counts as news, whatever it is. */
  readonly #awaited = new Set<string>()
  /** True until the rules have been read. */
  #speaksOfMarks = true

  constructor(caches: RemedyCaches, clock: Pick<Clock, 'sleep'>, metrics: RemedyMetrics) {
    this.#caches = caches
    this.#metrics = metrics
    this.#verdicts = new VerdictBook(clock)
    this.jobs = new JobLedger(caches.jobs)
  }

  /** Calls `wake` when a reconcile may find something new. */
  listen(wake: (news: 'Now' | 'Later') => void): void {
    const { remediers, revisions, nodes, machines, jobs, holds, maintenance, contents } = this.#caches
    contents.onChange(() => wake('Now'))
    const now = () => wake('Now')
    const mark = (news: News, ...names: readonly (string | undefined)[]) => {
      if (news === undefined) return
      for (const name of names) if (name !== undefined) this.#changed.add(name)
      wake(news)
    }
    nodes.onChange((before, after) =>
      mark(newsOf(before, after, this.#speaksOfMarks), (after ?? before)?.metadata.name),
    )
    // Rules cannot read the annotations and taints of a Machine.
    machines.onChange((before, after) =>
      mark(newsOf(before, after, false), before?.status?.nodeRef?.name, after?.status?.nodeRef?.name),
    )
    jobs.onChange((before, after) => {
      const isAwaited = this.#awaited.delete((after ?? before)?.metadata.name ?? '')
      const news = isAwaited ? 'Now' : newsOfJob(before, after)
      if (news === undefined) return
      const name = (after ?? before)?.spec.node.name
      if (name !== undefined) this.#worked.add(name)
      wake(news)
    })
    remediers.onChange((before, after) => void (isOtherRule(before, after) && now()))
    revisions.onChange(now)
    holds.onChange(now)
    maintenance.onChange((before, after) => {
      if ((before !== undefined && standsOff(before)) !== (after !== undefined && standsOff(after))) now()
    })
  }

  /** The job was overwritten in the version that we know. Its next event shows whether that was the latest one. */
  awaitNews(job: RemedyOperationJob): void {
    this.#awaited.add(job.metadata.name ?? '')
  }

  async observe(now: number): Promise<Seen> {
    const { remediers, revisions, nodes, machines, jobs: cachedJobs, holds, maintenance, contents } = this.#caches
    requireFresh([remediers, revisions, nodes, machines, cachedJobs, holds, maintenance, ...contents.caches])
    const kept = Map.groupBy(
      revisions.list().filter((r) => remedierOf(r) !== ''),
      remedierOf,
    )
    const rules = remediers
      .list()
      .filter((r) => r.metadata.deletionTimestamp === undefined)
      .map((r): RuleReading => {
        const { object, edit, isHeld } = contents.view(r, now)
        const reading = this.#book.read(object, kept.get(r.metadata.name ?? '') ?? [], isHeld)
        return edit === undefined ? reading : { ...reading, edit }
      })
    const active = rules
      .flatMap((r) => r.active ?? [])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_RULES)
    this.#speaksOfMarks = active.some((a) => needsOf(a.rule).marks)
    const jobs = this.jobs.list()
    const history = new History(jobs, now)
    const question = {
      active,
      remediers: rules.map((r) => r.remedier),
      repairsOf: (uid: string) => repairsFact(history.ofNode(uid), now),
      onTrue: (rule: string, since: number) => this.#metrics.detected(rule, now - since),
    }
    const changed = this.#changed
    this.#changed = new Set()
    if (active.some((a) => needsOf(a.rule).repairs)) for (const name of this.#worked) changed.add(name)
    this.#worked.clear()
    try {
      await this.#verdicts.update(this.#views(changed), question, now)
    } catch (error) {
      for (const name of changed) this.#changed.add(name)
      throw error
    }
    return {
      rules,
      revisions: revisions.list(),
      nodes: this.#verdicts.bad(),
      counts: this.#verdicts.counts(),
      jobs,
      holds: holds.list(),
      maintained: maintainedBy(maintenance.list()),
      isTimed: this.#verdicts.isTimed,
    }
  }

  #views(names: ReadonlySet<string>): ReadonlyMap<string, NodeView | undefined> {
    const { nodes, machines } = this.#caches
    return new Map(
      [...names].map((name) => {
        const node = nodes.get(name)
        if (node === undefined) return [name, undefined]
        const own = machines.byIndex(BY_NODE, node.metadata.uid ?? '')
        const [machine] =
          own.length < 2 ? own : own.toSorted((a, b) => (String(a.metadata.name) < String(b.metadata.name) ? -1 : 1))
        return [name, nodeView(node, machine)]
      }),
    )
  }
}

/** Our own status writes are no news. */
const isOtherRule = (before: NodeRemedier | undefined, now: NodeRemedier | undefined): boolean =>
  before === undefined ||
  now === undefined ||
  before.metadata.uid !== now.metadata.uid ||
  before.metadata.generation !== now.metadata.generation ||
  before.metadata.deletionTimestamp !== now.metadata.deletionTimestamp ||
  JSON.stringify(before.metadata.annotations) !== JSON.stringify(now.metadata.annotations)
