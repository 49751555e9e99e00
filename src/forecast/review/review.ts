// Reviews the rules that were in force over a recorded history: which never fired, which repaired what ends by itself, and which conditions no rule reads. The rules are
// evaluated by the remedy controller's own book on the time of observation. Nothing is planned: the repairs are those that were recorded.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { COMPONENT_UNHEALTHY, isOfLifecycle } from '#api/node-conditions.ts'
import { JobBook } from '#controllers/remedy/repairs/history.ts'
import { type FleetConditions, canBeTrue } from '#declared/unset-conditions.ts'
import type { DeedLine } from '#history/deeds/chain.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { parseDuration } from '#lib/duration.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { Gaps } from '../backtest/gaps.ts'
import { Measured } from '../backtest/measured.ts'
import { type Moment, Past, type PastChange } from '../backtest/past.ts'
import { CORDONED, Recorded, nodeOfPerson } from '../backtest/recorded.ts'
import { RuleSet, readByRules } from '../backtest/rule-set.ts'
import { type SideOfRules, Verdicts } from '../backtest/verdicts.ts'
import { ConditionsSeen } from './conditions-seen.ts'
import { type FaultState, RepairsSeen } from './repairs-seen.ts'
import type { ConditionReview, ReviewResult, RuleReview } from './result.ts'
import { TimesTrue } from './times-true.ts'

export interface ReviewOptions {
  readonly cluster: string
  readonly windowMs: number
  /** What is observed then was known before, and is no change. */
  readonly asked?: number
  /** Of the fleet as git declares it, if that is known. */
  readonly fleet?: FleetConditions | undefined
}

const READ: ReadonlySet<string> = new Set(['Node', 'Machine', 'NodeRemedier', 'RemedyOperationJob'])
/** Rules are evaluated once, so the other side of a comparison is empty. */
const NO_RULES: SideOfRules = { active: [], remediers: [], repairsOf: () => ({}) }
/** How often it is checked whose faults are over. */
const SWEEP_MS = 60_000

export class Review {
  readonly #options: ReviewOptions
  readonly #verdicts: Verdicts = new Verdicts(() => ['Node', 'Machine'].flatMap((kind) => this.#past.all(kind)))
  readonly #past: Past = new Past(
    (kind, topic, isDetail) => READ.has(kind) && this.#verdicts.isRead(kind, topic, isDetail),
  )
  readonly #rules = new RuleSet()
  /** By name: when it was first recorded, and until when if it was deleted. */
  readonly #since = new Map<string, number>()
  readonly #gaps = new Gaps()
  readonly #measured = new Measured()
  readonly #recorded = new Recorded({ measured: this.#measured, familyOf: (rule) => rule })
  readonly #jobs = new JobBook()
  readonly #conditions = new ConditionsSeen((from, to) => this.#gaps.blindMs(from, to))
  readonly #repairs = new RepairsSeen({
    durationMs: (job) => this.#measured.durationMs(job),
    relapseWindowMs: (rule) => parseDuration(this.#ruleCalled(rule)?.spec.relapseWindow ?? '0s'),
    hasGap: (from, to) => this.#gaps.blindMs(from, to) > 0,
  })
  readonly #true = new TimesTrue()
  readonly #nodes = new Set<string>()
  #begins: number | undefined
  #now = 0
  #rows = 0
  #sweptAt = 0
  #version = -1

  constructor(options: ReviewOptions) {
    this.#options = options
  }

  /** The promise, if any, must resolve before the next line. */
  take(line: Exclude<HistoryLine, { readonly line: 'head' }>): Promise<void> | undefined {
    const moment = this.#past.take(line)
    if (moment !== undefined) {
      const { at, changes, gaps, deeds, rows } = moment
      const isQuiet = changes.length === 0 && gaps.length === 0 && deeds.length === 0
      if (!isQuiet || this.#begins === undefined || at >= this.#wakeAt())
        return this.#moment(moment).then(() => this.#conditions.take(line))
      this.#now = at
      this.#rows += rows
    }
    this.#conditions.take(line)
    return undefined
  }

  async end(to: number): Promise<ReviewResult> {
    const last = this.#past.end()
    if (last !== undefined) await this.#moment(last)
    const end = Math.max(to, this.#now)
    await this.#passUntil(end)
    this.#true.end(end)
    this.#repairs.end(end)
    return this.#result(end)
  }

  async #moment({ at, changes, gaps, deeds, rows }: Moment): Promise<void> {
    await this.#passUntil(at)
    const isFirst = this.#begins === undefined
    this.#begins ??= at
    this.#now = at
    if (!isFirst || at !== this.#options.asked) this.#rows += rows
    for (const gap of gaps) this.#gaps.add(gap, gap.subject === undefined ? undefined : this.#past.uidOf(gap.subject))
    for (const deed of deeds.toSorted((a, b) => a.n - b.n)) this.#takeDeed(deed)
    // Rows of one time may come in any order.
    for (const change of changes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) this.#takeChange(change, isFirst)
    this.#verdicts.take(changes)
    await this.#step(at)
  }

  /** A verdict can change although nothing happens. */
  async #passUntil(end: number): Promise<void> {
    for (let next = this.#wakeAt(); next < end; next = this.#wakeAt()) {
      this.#now = Math.max(this.#now + 1, next)
      await this.#step(this.#now)
    }
  }

  #wakeAt(): number {
    const ends = this.#gaps.nextEnd(this.#now)
    return this.#gaps.isBlind(this.#now) ? ends : Math.min(this.#verdicts.changesAt, ends)
  }

  async #step(now: number): Promise<void> {
    if (this.#gaps.isBlind(now)) return
    const base = {
      active: this.#rules.active(),
      remediers: this.#rules.remediers(),
      repairsOf: (uid: string) => repairsFact(this.#jobs.ofNode(uid), now),
    }
    await this.#verdicts.update({ base, change: NO_RULES }, now)
    const version = this.#verdicts.versionOf('base')
    const isSwept = now - this.#sweptAt < SWEEP_MS
    if (version === this.#version && !this.#repairs.isWatching && isSwept) return
    this.#version = version
    const { nodes } = this.#verdicts.of('base')
    const bad = new Map(nodes.map((n) => [n.uid, n.matches]))
    const faultOf = (one: { readonly rule: string; readonly node: string; readonly uid: string }): FaultState => {
      if (this.#gaps.isUnknown(one.uid, now)) return 'Unknown'
      if (bad.get(one.uid)?.has(one.rule) === true) return 'Present'
      const view = this.#verdicts.view(one.node)
      return view?.uid === one.uid && view.standing.kind === 'Readable' ? 'Over' : 'Unknown'
    }
    this.#true.step(now, nodes, faultOf)
    this.#repairs.step(now, faultOf)
    if (isSwept) return
    this.#sweptAt = now
    this.#recorded.sweep(now, (uid) => bad.has(uid))
  }

  #takeDeed(deed: DeedLine): void {
    const uidOf = (node: string) => this.#verdicts.view(node)?.uid
    this.#recorded.takeDeed(deed, uidOf)
    const node = nodeOfPerson(deed)
    const uid = node === undefined || deed.what !== CORDONED ? undefined : uidOf(node)
    if (uid !== undefined) this.#repairs.acted(uid, this.#now)
  }

  #takeChange({ subject, object }: PastChange, isFirst: boolean): void {
    const { kind, name } = subject
    if (kind === 'Node') this.#nodes.add(name)
    if (kind === 'NodeRemedier') {
      this.#rules.put(name, object as NodeRemedier | undefined)
      if (object === undefined) this.#since.delete(name)
      else if (!this.#since.has(name)) this.#since.set(name, this.#now)
    }
    if (kind === 'RemedyOperationJob') this.#takeJob(name, object as RemedyOperationJob | undefined, isFirst)
  }

  #takeJob(name: string, job: RemedyOperationJob | undefined, isFirst: boolean): void {
    const before = this.#recorded.job(name)
    const isTaken = job !== undefined && this.#recorded.isCensored(job.spec.node.uid)
    this.#recorded.put(name, job, this.#now)
    this.#jobs.put(name, job)
    const node = (job ?? before)?.spec.node.name
    if (node !== undefined) this.#verdicts.noteRepair('base', node)
    // What was asked for before the window does not count in it.
    if (job === undefined) return this.#repairs.deleted(name)
    if (isFirst) return
    if (before === undefined) {
      const created = Date.parse(job.metadata.creationTimestamp ?? '')
      this.#repairs.created(job, this.#now, isTaken || this.#gaps.covers(created))
    }
    this.#repairs.changed(before, job, this.#now)
  }

  #ruleCalled(name: string): ActiveRule | undefined {
    return this.#rules.active().find((a) => a.name === name)
  }

  #result(end: number): ReviewResult {
    const { cluster, windowMs, fleet } = this.#options
    const from = this.#begins ?? end
    const unknownShare = end === from ? 0 : this.#gaps.blindMs(from, end) / (end - from)
    return {
      cluster,
      from,
      to: end,
      windowMs,
      rows: this.#rows,
      nodes: this.#nodes.size,
      unknownShare,
      isEmpty: this.#nodes.size === 0 || unknownShare === 1,
      rules: this.#ruleReviews(end),
      conditions: this.#conditionReviews(end),
      unset: fleet?.unset,
    }
  }

  #ruleReviews(end: number): readonly RuleReview[] {
    return this.#rules
      .remediers()
      .map(({ metadata: { name = '' }, spec }): RuleReview => {
        const active = this.#ruleCalled(name)
        const since = this.#since.get(name) ?? end
        const has = (type: string) => this.#conditions.has(type)
        const types = active === undefined ? [] : [...(readByRules([active.rule]).types ?? [])]
        return {
          rule: name,
          mode: spec.mode,
          isActive: active !== undefined,
          knownMs: end - since - this.#gaps.blindMs(since, end),
          forMs: parseDuration(spec.for),
          neverReported: active === undefined || canBeTrue(active.rule.root, has) ? [] : types.filter((t) => !has(t)),
          ...this.#repairs.of(name),
          ...(this.#true.sums.get(name) ?? { times: 0, longestMs: 0, longest: undefined }),
        }
      })
      .toSorted((a, b) => (a.rule < b.rule ? -1 : 1))
  }

  #conditionReviews(end: number): readonly ConditionReview[] {
    const { fleet } = this.#options
    const rules = this.#rules.active().map(({ name, rule }) => ({ name, types: readByRules([rule]).types }))
    const isRead = (types: ReadonlySet<string> | undefined, type: string): boolean =>
      types === undefined ||
      types.has(type) ||
      // It repeats what this one condition says of all components.
      (type.startsWith(`${COMPONENT_UNHEALTHY}-`) && types.has(COMPONENT_UNHEALTHY))
    const found = this.#conditions.result(end).filter(({ times }) => times > 0)
    const readersOf = (type: string) => rules.filter(({ types }) => isRead(types, type)).map(({ name }) => name)
    const parts = found.flatMap(({ type }) => (type.startsWith(`${COMPONENT_UNHEALTHY}-`) ? [readersOf(type)] : []))
    // Rules that read each component at fault read all that the sum says.
    const ofParts = parts.every((readers) => readers.length > 0) ? [...new Set(parts.flat())] : []
    return found.map((sums) => ({
      ...sums,
      rules: [...new Set([...readersOf(sums.type), ...(sums.type === COMPONENT_UNHEALTHY ? ofParts : [])])],
      isExcused:
        isOfLifecycle(sums.type) || fleet?.excused.has(sums.type) === true || fleet?.watched.has(sums.type) === true,
    }))
  }
}

const keyOf = ({ subject }: PastChange): string => `${subject.kind} ${subject.name} ${subject.uid}`
