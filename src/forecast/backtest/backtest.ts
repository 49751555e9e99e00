// Replays a recorded history under two sets of rules and policies, and compares what they ask for. Driven by events: the clock is the time of observation, and jumps
// to the next one. Memory does not grow with the length of the history: only the present state and open jobs are kept.
import type { Approval } from '#api/kinds/approval.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import type { DeedLine } from '#history/deeds/chain.ts'
import type { GapLine, HistoryLine } from '#history/lines/line.ts'
import { defined } from '#lib/defined.ts'
import { maintainedBy } from '#nodes/faults/maintenance.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { budgetsOf, widestLoosened, widestOf } from './budgets.ts'
import { ClosedSide } from './closed.ts'
import { Comparison } from './comparison.ts'
import { doubtsOf } from './doubts.ts'
import { Downs } from './downs.ts'
import { Gaps } from './gaps.ts'
import { Measured } from './measured.ts'
import { type Moment, Past, type PastChange } from './past.ts'
import { PastFleet, type PermitWorld } from './permits.ts'
import { Places } from './places.ts'
import { PolicySet } from './policy-set.ts'
import { Recorded } from './recorded.ts'
import type { BacktestResult, SideResult } from './result.ts'
import { type ReadByRules, RuleSet, isReadTopic, readByRules } from './rule-set.ts'
import type { Surroundings } from './run.ts'
import { SAME_WITHIN_MS, workKey } from './replayed-job.ts'
import { OpenSide } from './side.ts'
import { SIDES, type Side, Verdicts } from './verdicts.ts'

/** Undefined: as the history recorded them over time. */
export interface Declared {
  readonly rules: readonly NodeRemedier[] | undefined
  readonly policies: readonly DefenderPolicy[] | undefined
}

export interface BacktestOptions {
  readonly cluster: string
  readonly base: Declared
  readonly change: Declared
  /** Replays of the closed loop; none if 0. */
  readonly seeds: number
  /** What is observed then was known before, and is no change. */
  readonly asked?: number
}

export class Backtest {
  readonly #options: BacktestOptions
  readonly #verdicts: Verdicts = new Verdicts(() => ['Node', 'Machine'].flatMap((kind) => this.#past.all(kind)))
  readonly #past: Past = new Past(
    (kind, place, isDetail) => this.#verdicts.isRead(kind, place, isDetail),
    (kind, topic) => kind !== 'Node' || this.#everRead === undefined || isReadTopic(kind, topic, this.#everRead),
    (subject, place, status) => this.#verdicts.isIdle(subject, place, status),
  )
  readonly #measured = new Measured()
  readonly #recorded = new Recorded({ measured: this.#measured, familyOf: (rule) => this.#familyOf(rule) })
  readonly #rules: Readonly<Record<Side, RuleSet>>
  /** What rules of either side read of nodes; undefined: those of the history come to read anything. */
  readonly #everRead: ReadByRules | undefined
  readonly #policies: Readonly<Record<Side, PolicySet>>
  readonly #sides: Readonly<Record<Side, OpenSide>>
  readonly #closed: Readonly<Record<Side, ClosedSide>> | undefined
  readonly #fleet = new PastFleet()
  readonly #places = new Places()
  readonly #gaps = new Gaps()
  readonly #comparison = new Comparison()
  readonly #downs = new Downs((down) =>
    this.#comparison.down(down, (side) => this.#sides[side].hasRepaired(down.uid, down.since)),
  )
  readonly #holds = new Map<string, OperationalHold>()
  readonly #approvals = new Map<string, Approval>()
  readonly #maintenance = new Map<string, MaintenanceEvent>()
  readonly #uids = new Map<string, string>()
  /** By name of a rule; until the rules change. */
  readonly #types = new Map<string, ReadonlySet<string>>()
  #around: Surroundings
  #begins: number | undefined
  #hasNodes = false
  #now = 0
  #rows = 0
  #sweptAt = 0
  /** Until then, what changes nothing needs no look. */
  #nextWake = -Infinity

  constructor(options: BacktestOptions) {
    this.#options = options
    const { base, change, seeds } = options
    this.#rules = { base: new RuleSet(base.rules), change: new RuleSet(change.rules) }
    const isFixed = base.rules !== undefined && change.rules !== undefined
    const rules = isFixed ? SIDES.flatMap((side) => this.#rules[side].active().map((a) => a.rule)) : []
    this.#everRead = isFixed ? readByRules(rules) : undefined
    this.#policies = { base: new PolicySet(base.policies), change: new PolicySet(change.policies) }
    this.#sides = { base: this.#openSide('base'), change: this.#openSide('change') }
    const closed = (side: Side) =>
      new ClosedSide({
        rules: this.#rules[side],
        measured: this.#measured,
        familyOf: (r) => this.#familyOf(r),
        isSameFault: (a, b) => this.#isSameFault(a, b),
        seeds,
      })
    this.#closed = seeds === 0 ? undefined : { base: closed('base'), change: closed('change') }
    this.#around = this.#surroundings()
  }

  /** The promise, if any, must resolve before the next line: most lines change nothing that anyone reads. */
  take(line: Exclude<HistoryLine, { readonly line: 'head' }>): Promise<void> | undefined {
    const moment = this.#past.take(line, this.#nextWake)
    return moment === undefined ? undefined : this.#moment(moment)
  }

  async end(to: number): Promise<BacktestResult> {
    const last = this.#past.end()
    if (last !== undefined) await this.#moment(last)
    const end = Math.max(to, this.#now)
    await this.#passUntil(end)
    this.#now = end
    this.#downs.end(end)
    return this.#result(end)
  }

  async #moment({ at, changes, gaps, deeds, rows }: Moment): Promise<void> {
    await this.#passUntil(at)
    const isFirst = this.#begins === undefined
    this.#begins ??= at
    this.#now = at
    if (!isFirst || at !== this.#options.asked) this.#rows += rows
    for (const gap of gaps) this.#takeGap(gap)
    for (const deed of deeds) this.#takeDeed(deed)
    if (changes.length > 0) this.#takeChanges(changes, isFirst)
    await this.#step(at)
    this.#nextWake = Math.min(this.#wakeAt(), this.#sweptAt + SWEEP_MS)
  }

  /** Hold-downs, cooldowns, windows and repairs end between two observations too. */
  async #passUntil(end: number): Promise<void> {
    for (let next = this.#wakeAt(); next < end; next = this.#wakeAt()) {
      this.#now = Math.max(this.#now + 1, next)
      await this.#step(this.#now)
    }
  }

  #wakeAt(): number {
    const { base, change } = this.#sides
    const ends = this.#gaps.nextEnd(this.#now)
    if (this.#gaps.isBlind(this.#now)) return ends
    const closed =
      this.#closed === undefined ? Infinity : Math.min(this.#closed.base.wakeAt, this.#closed.change.wakeAt)
    return Math.min(base.wakeAt, change.wakeAt, this.#verdicts.changesAt, ends, closed)
  }

  async #step(now: number): Promise<void> {
    if (this.#gaps.isBlind(now)) return
    await this.#judge(now)
    if (now - this.#sweptAt >= SWEEP_MS) this.#sweep(now)
    for (const side of SIDES) {
      const version = () => this.#verdicts.versionOf(side)
      if (!this.#sides[side].isDue(now, version())) continue
      await this.#sides[side].step(
        now,
        () => this.#judge(now).then(() => this.#verdicts.of(side)),
        version,
        this.#around,
        this.#permitWorld(),
      )
    }
    if (this.#closed === undefined) return
    const faults = { version: this.#verdicts.faultsVersion, nodes: () => this.#verdicts.faults() }
    for (const side of SIDES)
      this.#closed[side].step(now, () => this.#verdicts.of(side), this.#verdicts.versionOf(side), this.#around, faults)
  }

  #judge(now: number): Promise<void> {
    const of = (side: Side) => ({
      active: this.#rules[side].active(),
      remediers: this.#rules[side].remediers(),
      repairsOf: (uid: string) => repairsFact(this.#sides[side].run.jobsOf(uid), now),
    })
    return this.#verdicts.update({ base: of('base'), change: of('change') }, now)
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    const faulty = new Set(SIDES.flatMap((side) => this.#verdicts.of(side).nodes.map((n) => n.uid)))
    this.#recorded.sweep(now, (uid) => faulty.has(uid))
    this.#comparison.passed(now)
  }

  #takeGap(gap: GapLine): void {
    const subject = gap.subject === undefined ? undefined : this.#past.uidOf(gap.subject)
    this.#gaps.add(gap, subject)
    this.#downs.forget()
    this.#wakeAll()
  }

  #takeDeed(deed: DeedLine): void {
    this.#recorded.takeDeed(deed, (node) => this.#verdicts.view(node)?.uid)
  }

  #takeChanges(changes: readonly PastChange[], isFirst: boolean): void {
    for (const change of changes) this.#takeChange(change, isFirst)
    for (const name of this.#verdicts.take(changes)) {
      const view = this.#verdicts.view(name)
      this.#places.put(name, view)
      this.#hasNodes ||= view !== undefined
      this.#downs.take(name, view, this.#now)
    }
  }

  #takeChange({ subject, object, topics }: PastChange, isFirst: boolean): void {
    const { kind, name } = subject
    switch (kind) {
      case 'Node':
      case 'Machine':
        if (topics.size === 0 || [...topics].some((topic) => !OF_RULES.test(topic)))
          this.#fleet.note(kind, name, object)
        return kind === 'Machine' ? void this.#uids.set(name, subject.uid) : undefined
      case 'NodeRemedier':
        this.#types.clear()
        for (const side of SIDES)
          if (this.#options[side].rules === undefined) this.#rules[side].put(name, object as NodeRemedier | undefined)
        return
      case 'DefenderPolicy':
        for (const side of SIDES)
          if (this.#options[side].policies === undefined)
            this.#policies[side].put(name, object as DefenderPolicy | undefined)
        return this.#wakeAll()
      case 'RemedyOperationJob':
        return this.#takeJob(name, object as RemedyOperationJob | undefined, isFirst)
      case 'OperationPermit':
        return this.#takePermit(name, object as OperationPermit | undefined)
      case 'OperationalHold':
        return this.#keep(this.#holds, name, object as OperationalHold | undefined)
      case 'Approval':
        return this.#keep(this.#approvals, name, object as Approval | undefined)
      case 'MaintenanceEvent':
        return this.#keep(this.#maintenance, name, object as MaintenanceEvent | undefined)
      default:
    }
  }

  #keep<T>(all: Map<string, T>, name: string, object: T | undefined): void {
    if (object === undefined) all.delete(name)
    else all.set(name, object)
    this.#wakeAll()
  }

  #wakeAll(): void {
    this.#around = this.#surroundings()
    for (const side of SIDES) {
      this.#sides[side].run.wake()
      this.#sides[side].permits.wake()
      this.#closed?.[side].wake()
    }
  }

  #takeJob(name: string, job: RemedyOperationJob | undefined, isFirst: boolean): void {
    const isNew = this.#recorded.put(name, job, this.#now)
    const created = Date.parse(job?.metadata.creationTimestamp ?? '')
    // What was begun where nothing was observed is where both sides begin.
    const isAdopted = isNew && job !== undefined && (isFirst || this.#gaps.covers(created))
    for (const side of SIDES) {
      if (isAdopted && !this.#sides[side].run.knows(name)) this.#sides[side].run.adopt(job, this.#now)
      else this.#sides[side].run.recorded(name, job, this.#now)
      if (isAdopted) this.#closed?.[side].adopt(job, this.#now)
      else this.#closed?.[side].recorded(name, job, this.#now)
    }
    if (isNew && job !== undefined && !isAdopted && !job.spec.dryRun)
      this.#comparison.recorded({ name, key: workKey(job), at: this.#now, node: job.spec.node.name, rule: ruleOf(job) })
    const node = job?.spec.node.name
    if (node !== undefined) for (const side of SIDES) this.#verdicts.noteRepair(side, node)
  }

  /** Those of repairs are asked for by the replayed repairs themselves. */
  #takePermit(name: string, permit: OperationPermit | undefined): void {
    const known = this.#comparison.isAsked(name)
    if (permit === undefined ? !known : permit.spec.requester.kind === 'RemedyOperationJob') return
    if (
      permit !== undefined &&
      !known &&
      (permit.status?.phase ?? 'Requested') !== 'Requested' &&
      permit.status?.endedAt !== undefined
    )
      return
    if (permit === undefined) this.#comparison.permitGone(name)
    else this.#comparison.asked(name)
    for (const side of SIDES) this.#sides[side].permits.recorded(name, permit)
  }

  #openSide(side: Side): OpenSide {
    return new OpenSide({
      rules: this.#rules[side],
      policies: () => this.#policies[side].all(),
      recorded: this.#recorded,
      durationMs: (job) => this.#measured.durationMs(job),
      recordedAs: (job, now) => this.#recordedAs(job, now, side),
      placeOf: (job, kind) => this.#places.of(job.spec.node.name, kind),
      machineUidOf: (job) => this.#uids.get(job.spec.machine ?? ''),
      onJob: ({ job, createdAt }) =>
        this.#comparison.asksFor(side, {
          name: job.metadata.name ?? '',
          key: workKey(job),
          at: createdAt,
          node: job.spec.node.name,
          rule: ruleOf(job),
        }),
      onNeedless: ({ job, createdAt }) => {
        if (side === 'change') this.#comparison.needless({ node: job.spec.node.name, rule: ruleOf(job), at: createdAt })
      },
      onOthersGranted: (permit, now) => this.#comparison.granted(side, permit, now),
      onRepair: (node) => this.#verdicts.noteRepair(side, node),
    })
  }

  #recordedAs(job: RemedyOperationJob, now: number, side: Side): RemedyOperationJob | undefined {
    const known = this.#recorded.job(job.metadata.name ?? '')
    if (known !== undefined) return known
    const key = workKey(job)
    for (const other of this.#recorded.jobs()) {
      const isNear = Math.abs(now - Date.parse(other.metadata.creationTimestamp ?? '')) <= SAME_WITHIN_MS
      if (isNear && workKey(other) === key && !this.#sides[side].run.knows(other.metadata.name ?? '')) return other
    }
    return undefined
  }

  #surroundings(): Surroundings {
    return {
      holds: [...this.#holds.values()],
      maintained: maintainedBy([...this.#maintenance.values()]),
      isUnknown: (uid) => this.#gaps.isUnknown(uid, this.#now),
      isSilent: (node) => this.#verdicts.view(node)?.standing.kind === 'Silent',
    }
  }

  #permitWorld(): PermitWorld {
    return {
      fleet: this.#fleet,
      cluster: this.#options.cluster,
      holds: this.#around.holds,
      approvals: [...this.#approvals.values()],
      maintenance: [...this.#maintenance.values()],
      isBlind: this.#gaps.isBlind(this.#now),
    }
  }

  #isSameFault(a: string, b: string): boolean {
    return !this.#typesOf(a).isDisjointFrom(this.#typesOf(b))
  }

  /** Conditions that rules of this name read, on either side. */
  #typesOf(rule: string): ReadonlySet<string> {
    const known = this.#types.get(rule)
    if (known !== undefined) return known
    const found = SIDES.flatMap((side) => this.#rules[side].active().filter((a) => a.name === rule))
    const types = new Set(found.flatMap((a) => [...(readByRules([a.rule]).types ?? [])]))
    this.#types.set(rule, types)
    return types
  }

  /** The conditions that a rule is about. */
  #familyOf(rule: string): string {
    const found = SIDES.flatMap((side) => this.#rules[side].active()).find((a) => a.name === rule)
    const types = found === undefined ? undefined : readByRules([found.rule]).types
    return types === undefined || types.size === 0 ? rule : [...types].toSorted().join(',')
  }

  #result(end: number): BacktestResult {
    const begins = this.#begins ?? end
    const { base, change } = this.#sides
    const compared = this.#comparison.result({ base: base.sums, change: change.sums })
    const budgets = { base: this.#budgets('base'), change: this.#budgets('change') }
    const unknownShare = end === begins ? 0 : this.#gaps.blindMs(begins, end) / (end - begins)
    return {
      cluster: this.#options.cluster,
      from: begins,
      to: end,
      rows: this.#rows,
      nodes: this.#places.nodes,
      isEmpty: !this.#hasNodes || unknownShare === 1,
      unknownShare,
      ...compared,
      ...doubtsOf({
        active: { base: this.#rules.base.active(), change: this.#rules.change.active() },
        rules: compared.rules,
        reported: this.#past.conditionTypes,
        isSameFault: (a, b) => this.#isSameFault(a, b),
      }),
      base: this.#sideResult('base', end, widestOf(budgets.base, budgets.change)),
      change: this.#sideResult('change', end, widestOf(budgets.change, budgets.base)),
      loosened: widestLoosened(budgets.base, budgets.change),
      closed:
        this.#closed === undefined
          ? undefined
          : {
              seeds: this.#options.seeds,
              outcomes: this.#measured.outcomes,
              base: this.#closed.base.result(end),
              change: this.#closed.change.result(end),
            },
    }
  }

  #budgets(side: Side): ReturnType<typeof budgetsOf> {
    const { counts } = this.#verdicts.of(side)
    return budgetsOf({
      rules: this.#rules[side].active(),
      policies: this.#policies[side].all(),
      units: this.#fleet.now().units,
      nodesOf: (rule) => counts.get(rule)?.selected ?? this.#places.nodes,
    })
  }

  #sideResult(side: Side, end: number, budget: SideResult['budget']): SideResult {
    const { sums } = this.#sides[side]
    const [zone, rack] = [sums.peaks.of('zone'), sums.peaks.of('rack')]
    return {
      total: sums.total(),
      missed: sums.missed,
      peaks: defined({ zone, rack }),
      limits: sums.bound.result(end),
      gates: sums.permitBound.result(end),
      budget,
    }
  }
}

/** Conditions that only rules read. */
const OF_RULES = /^status\/conditions\/(?!Ready$|AgentReachable$)/
/** How often it is checked whose faults are over. */
const SWEEP_MS = 60_000
