// One side of a comparison, replayed: the remedy controller's own plan decides, and its jobs live in memory. Open loop: a repair changes nothing, and a fault ends
// when it ended in the history. Closed loop: a repair may end the fault. Nothing is written anywhere.
import type { Reason } from '#api/catalogue.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { jobOf, revisionOf } from '#controllers/remedy/act.ts'
import type { RemedyAction } from '#controllers/remedy/actions.ts'
import { plan } from '#controllers/remedy/plan.ts'
import { JobBook, isOpen, ruleOf } from '#controllers/remedy/repairs/history.ts'
import type { NodeSeen, Seen } from '#controllers/remedy/seen.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'
import { SUPERSEDED_BY } from '#nodes/faults/superseded.ts'
import { type Outcome, type ReplayedJob, SAME_WITHIN_MS, isSameWork, workKey } from './replayed-job.ts'
import type { RuleSet } from './rule-set.ts'
import type { SideVerdicts } from './verdicts.ts'

const DAY_MS = 86_400_000
/** From the creation of a job to its first step: permit, reports, and the round trips between. By then the recorded job was observed, if there is one. */
const STARTS_AFTER_MS = 5_000
/** A plan that creates a job is followed by another one, as in the controller. */
const MOST_TURNS = 50

export interface Surroundings {
  readonly holds: readonly OperationalHold[]
  readonly maintained: ReadonlyMap<string, string>
  /** Nodes of which nothing is known now, by UID. */
  readonly isUnknown: (uid: string) => boolean
  /** Whether the node reports: a silent node neither has the fault nor lacks it. */
  readonly isSilent: (node: string) => boolean
}

export interface RunOptions {
  readonly rules: RuleSet
  readonly durationMs: (job: RemedyOperationJob) => number
  /** The recorded job that this one is; absent in the closed loop, which follows no recorded job. */
  readonly recordedAs?: (job: RemedyOperationJob, now: number) => RemedyOperationJob | undefined
  /** Whether the repair ends the fault; undefined: as recorded. Absent in the open loop. */
  readonly helps?: (job: RemedyOperationJob) => boolean | undefined
  /** Whether both rules are about the same condition of a node. */
  readonly isSameFault?: (a: string, b: string) => boolean
  /** Asks for a permit; absent: every repair starts at once. */
  readonly ask?: (job: RemedyOperationJob, now: number) => void
  /** The time that the operations take when they start now, if it is another one than was assumed at the beginning. */
  readonly startedMs?: (job: RemedyOperationJob, now: number) => number | undefined
  readonly onCreated?: (replayed: ReplayedJob, why: string) => void
  /** The rule is no longer true for the node of an open job. */
  readonly onCleared?: (replayed: ReplayedJob, now: number) => void
  readonly onStarted?: (replayed: ReplayedJob, now: number) => void
  readonly onFinished?: (replayed: ReplayedJob, now: number) => void
  readonly onBound?: (bound: ReadonlySet<string>, now: number) => void
}

const LIMITS: ReadonlySet<Reason> = new Set<Reason>(['PerNodeLimit', 'HourlyLimit', 'DailyLimit', 'InFlightLimit'])

export class RepairRun {
  readonly #options: RunOptions
  readonly #book = new JobBook()
  readonly #jobs = new Map<string, ReplayedJob>()
  readonly #open = new Set<ReplayedJob>()
  /** Finished ones in the order of their end, until they no longer count. */
  readonly #done = new Set<ReplayedJob>()
  /** Node and rule of faults that a repair ended, until they end in the history too. */
  readonly #healed = new Map<string, Set<string>>()
  /** By the name of the recorded job, where it differs. */
  readonly #aliases = new Map<string, ReplayedJob>()
  #isDue = true
  /** Since the last step began, something happened that needs another one at the same time. */
  #goesOn = false
  #wakeAt = Infinity
  #knowsAllRules: unknown
  /** What the last plan saw. Until then, only something else makes another one necessary. */
  #planned: Planned | undefined

  constructor(options: RunOptions) {
    this.#options = options
  }

  get wakeAt(): number {
    return this.#wakeAt
  }

  get isDue(): boolean {
    return this.#isDue
  }

  wake(): void {
    this.#isDue = true
  }

  knows(name: string): boolean {
    return this.#jobs.has(name) || this.#aliases.has(name)
  }

  jobsOf(uid: string): readonly RemedyOperationJob[] {
    return this.#book.ofNode(uid)
  }

  hasOpen(uid: string): boolean {
    return this.jobsOf(uid).some((job) => isOpen(job) && !job.spec.dryRun)
  }

  get openJobs(): Iterable<ReplayedJob> {
    return this.#open
  }

  /** From before the replay or from a gap: both sides begin with it. */
  adopt(job: RemedyOperationJob, now: number): void {
    const replayed = this.#entry(job, now)
    replayed.isRecorded = true
    this.#mirror(replayed, job, now)
  }

  /** A recorded job changed. */
  recorded(name: string, job: RemedyOperationJob | undefined, now: number): void {
    const replayed = this.#jobs.get(name) ?? this.#aliases.get(name) ?? this.#withWorkOf(job, now)
    if (replayed === undefined) return
    if (job === undefined) {
      this.#aliases.delete(name)
      return replayed.isRecorded ? this.#forget(replayed) : undefined
    }
    if (!replayed.isRecorded && !this.#links(replayed.job, job)) return
    if (replayed.job.metadata.name !== name) this.#aliases.set(name, replayed)
    replayed.isRecorded = true
    this.#mirror(replayed, job, now)
  }

  #withWorkOf(job: RemedyOperationJob | undefined, now: number): ReplayedJob | undefined {
    if (job === undefined) return undefined
    const key = workKey(job)
    return [...this.#open].find(
      (one) => !one.isRecorded && now - one.createdAt <= SAME_WITHIN_MS && workKey(one.job) === key,
    )
  }

  #links(own: RemedyOperationJob, recorded: RemedyOperationJob): boolean {
    return this.#options.recordedAs !== undefined && isSameWork(own, recorded)
  }

  /** How many of the nodes have a fault that no repair of this run has ended. */
  faultyOf(nodes: readonly NodeSeen[], { isUnknown }: Surroundings): number {
    const { isSameFault } = this.#options
    return nodes.filter(({ name, uid, matches }) => {
      if (isUnknown(uid)) return false
      const healed = this.#healed.get(name)
      if (healed === undefined) return true
      return [...matches.keys()].some((rule) => ![...healed].some((h) => h === rule || isSameFault?.(h, rule) === true))
    }).length
  }

  granted(name: string, now: number): void {
    const replayed = this.#jobs.get(name)
    if (replayed !== undefined && !replayed.isRecorded && replayed.startedAt === undefined) this.#start(replayed, now)
  }

  refused(name: string, now: number): void {
    const replayed = this.#jobs.get(name)
    if (replayed !== undefined && !replayed.isRecorded && isOpen(replayed.job)) this.#finish(replayed, 'Transient', now)
  }

  step(now: number, verdicts: SideVerdicts, around: Surroundings): void {
    this.#goesOn = false
    this.#wakeAt = Infinity
    const nodes = this.#nodesOf(verdicts, around)
    const matching = new Map(nodes.map((n) => [n.name, n]))
    for (const replayed of this.#open) this.#advance(replayed, matching, around, now)
    for (const replayed of this.#done) {
      if ((replayed.finishedAt ?? 0) + DAY_MS > now) break
      this.#forget(replayed)
    }
    this.#decide(now, nodes, verdicts, around)
    // The plan saw what became of the jobs: another one would decide nothing new.
    this.#isDue = this.#goesOn
    for (const replayed of this.#open) this.#wakeFor(replayed, now)
  }

  #decide(now: number, nodes: readonly NodeSeen[], { counts }: SideVerdicts, around: Surroundings): void {
    const { rules, onBound } = this.#options
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const readings = rules.readings()
      const jobs = this.#book.list()
      const before = this.#planned
      if (
        before !== undefined &&
        now < before.until &&
        isSameSight(before, { readings, nodes, counts, jobs, around })
      ) {
        this.#wakeAt = Math.min(this.#wakeAt, before.until)
        return
      }
      const isKnown = this.#knowsAllRules === readings
      if (isKnown && nodes.length === 0) {
        onBound?.(NOTHING, now)
        return
      }
      // Rules that are true for no node decide nothing.
      const asked = isKnown ? rules.readingsOf(new Set(nodes.flatMap((n) => [...n.matches.keys()]))) : readings
      const { holds, maintained } = around
      const seen: Seen = {
        rules: asked,
        revisions: rules.revisionsOf(asked),
        nodes,
        counts,
        jobs,
        holds,
        maintained,
        isTimed: false,
      }
      const planned = plan(seen, now)
      const until = planned.requeueAfter === undefined ? Infinity : now + Math.max(1, planned.requeueAfter)
      this.#wakeAt = Math.min(this.#wakeAt, until)
      this.#planned = { readings, nodes, counts, jobs, around, until }
      if (!isKnown) this.#knowsAllRules = readings
      onBound?.(
        new Set(
          planned.verdicts.flatMap(({ reading, faults }) =>
            faults.flatMap(({ reason }) =>
              reason !== undefined && LIMITS.has(reason) ? [`rule ${reading.remedier.metadata.name}: ${reason}`] : [],
            ),
          ),
        ),
        now,
      )
      if (planned.actions.length === 0) return
      for (const action of planned.actions) this.#act(action, now)
    }
    this.#goesOn = true
  }

  #act(action: RemedyAction, now: number): void {
    const { rules } = this.#options
    switch (action.kind) {
      case 'KeepRevision':
        rules.keep(revisionOf(action.remedier, action.active))
        return
      case 'DropRevision':
        rules.drop(action.revision)
        return
      case 'SupersedeJob': {
        const replayed = this.#jobs.get(action.job.metadata.name ?? '')
        if (replayed === undefined) return
        const annotations = { ...replayed.job.metadata.annotations, [SUPERSEDED_BY]: action.by }
        this.#put(replayed, { ...replayed.job, metadata: { ...replayed.job.metadata, annotations } })
        // Nothing was begun, so it ends at once.
        if (!replayed.isRecorded) this.#finish(replayed, 'Superseded', now)
        return
      }
      case 'CreateJob':
        this.#create(jobOf(action.job), action.reason, now)
    }
  }

  #create(wanted: RemedyOperationJob, why: string, now: number): void {
    const { recordedAs, onCreated } = this.#options
    const job: RemedyOperationJob = {
      ...wanted,
      metadata: { ...wanted.metadata, uid: `replayed-${wanted.metadata.name}`, creationTimestamp: timestamp(now) },
    }
    if (this.#jobs.has(job.metadata.name ?? '')) return
    const replayed = this.#entry(job, now)
    onCreated?.(replayed, why)
    const recorded = recordedAs?.(job, now)
    if (recorded !== undefined && isSameWork(job, recorded)) {
      replayed.isRecorded = true
      const name = recorded.metadata.name ?? ''
      if (name !== job.metadata.name) this.#aliases.set(name, replayed)
      this.#mirror(replayed, recorded, now)
    }
  }

  #entry(job: RemedyOperationJob, now: number): ReplayedJob {
    const replayed: ReplayedJob = {
      job,
      createdAt: now,
      durationMs: this.#options.durationMs(job),
      startedAt: undefined,
      finishedAt: undefined,
      clearedAt: undefined,
      isRecorded: false,
      isAsked: false,
    }
    this.#jobs.set(job.metadata.name ?? '', replayed)
    this.#open.add(replayed)
    this.#put(replayed, job)
    return replayed
  }

  #put(replayed: ReplayedJob, job: RemedyOperationJob): void {
    replayed.job = job
    this.#book.put(job.metadata.name ?? '', job)
    this.#isDue = true
  }

  #mirror(replayed: ReplayedJob, { status }: RemedyOperationJob, now: number): void {
    if (jsonEqual(replayed.job.status, status)) return
    const wasStarted = replayed.startedAt !== undefined
    const { status: _, ...job } = replayed.job
    this.#put(replayed, status === undefined ? job : { ...job, status })
    if (!wasStarted && status?.startedAt !== undefined) {
      replayed.startedAt = now
      if (status.phase !== 'Done') this.#options.onStarted?.(replayed, now)
    }
    if (status?.phase === 'Done' && this.#open.has(replayed)) this.#close(replayed, now)
  }

  #begin(replayed: ReplayedJob, now: number): void {
    const { ask } = this.#options
    replayed.isAsked = true
    if (replayed.job.spec.dryRun) this.#finish(replayed, 'Cancelled', now)
    else if (ask === undefined) this.#start(replayed, now)
    else ask(replayed.job, now)
  }

  #start(replayed: ReplayedJob, now: number): void {
    this.#goesOn = true
    replayed.startedAt = now
    replayed.durationMs = this.#options.startedMs?.(replayed.job, now) ?? replayed.durationMs
    const status = { ...replayed.job.status, phase: 'Running', startedAt: timestamp(now) } as const
    this.#put(replayed, { ...replayed.job, status })
    this.#options.onStarted?.(replayed, now)
  }

  #finish(replayed: ReplayedJob, outcome: Outcome, now: number): void {
    const status = { ...replayed.job.status, phase: 'Done', outcome, finishedAt: timestamp(now) } as const
    this.#put(replayed, { ...replayed.job, status })
    this.#close(replayed, now)
  }

  #close(replayed: ReplayedJob, now: number): void {
    replayed.finishedAt = now
    this.#open.delete(replayed)
    this.#done.add(replayed)
    this.#options.onFinished?.(replayed, now)
  }

  #forget(replayed: ReplayedJob): void {
    const name = replayed.job.metadata.name ?? ''
    this.#open.delete(replayed)
    this.#done.delete(replayed)
    this.#jobs.delete(name)
    this.#book.put(name, undefined)
    this.#isDue = true
  }

  #advance(replayed: ReplayedJob, matching: ReadonlyMap<string, NodeSeen>, around: Surroundings, now: number): void {
    const { job } = replayed
    const { node } = job.spec
    const seen = matching.get(node.name)
    const isTrue = seen?.uid === node.uid && seen.matches.has(ruleOf(job))
    if (isTrue) {
      replayed.clearedAt = undefined
    } else {
      if (around.isSilent(node.name) || around.isUnknown(node.uid)) return
      if (replayed.clearedAt === undefined) {
        replayed.clearedAt = now
        this.#options.onCleared?.(replayed, now)
      }
    }
    if (replayed.isRecorded) return
    if (replayed.startedAt === undefined) {
      if (!isTrue) this.#finish(replayed, 'Superseded', now)
      else if (!replayed.isAsked && now >= replayed.createdAt + STARTS_AFTER_MS) this.#begin(replayed, now)
      return
    }
    if (replayed.clearedAt !== undefined) {
      if (now >= replayed.clearedAt + parseDuration(job.spec.stableFor)) this.#finish(replayed, 'Succeeded', now)
      return
    }
    if (now < replayed.startedAt + replayed.durationMs) return
    const helps = this.#options.helps?.(job)
    if (helps === true) this.#heal(node.name, ruleOf(job))
    this.#finish(replayed, helps === true ? 'Succeeded' : 'Escalated', now)
  }

  #wakeFor({ isRecorded, isAsked, createdAt, startedAt, durationMs, clearedAt, job }: ReplayedJob, now: number): void {
    if (isRecorded) return
    if (startedAt === undefined) {
      if (!isAsked) this.#wakeAt = Math.min(this.#wakeAt, createdAt + STARTS_AFTER_MS)
      return
    }
    const at = clearedAt === undefined ? startedAt + durationMs : clearedAt + parseDuration(job.spec.stableFor)
    this.#wakeAt = Math.min(this.#wakeAt, Math.max(at, now + 1))
  }

  #heal(node: string, rule: string): void {
    this.#goesOn = true
    this.#healed.set(node, (this.#healed.get(node) ?? new Set()).add(rule))
  }

  /** Without what is unknown now, and without faults that a repair of this run has ended. */
  #nodesOf({ nodes }: SideVerdicts, { isUnknown }: Surroundings): readonly NodeSeen[] {
    if (this.#healed.size > 0) {
      const byName = new Map(nodes.map((n) => [n.name, n]))
      for (const [name, rules] of this.#healed) {
        const matches = byName.get(name)?.matches
        for (const rule of rules) if (matches?.has(rule) !== true) rules.delete(rule)
        if (rules.size === 0) this.#healed.delete(name)
      }
    }
    return nodes.flatMap((node) => {
      if (isUnknown(node.uid)) return []
      const healed = this.#healed.get(node.name)
      if (healed === undefined) return [node]
      const matches = new Map([...node.matches].filter(([rule]) => !healed.has(rule)))
      return matches.size === 0 ? [] : [{ ...node, matches }]
    })
  }
}

const NOTHING: ReadonlySet<string> = new Set()

/** All that a plan reads beside the time. */
interface Sight extends Pick<SideVerdicts, 'counts'> {
  readonly readings: unknown
  readonly nodes: readonly NodeSeen[]
  readonly jobs: unknown
  readonly around: Surroundings
}

interface Planned extends Sight {
  readonly until: number
}

const isSameSight = (a: Sight, b: Sight): boolean =>
  a.jobs === b.jobs &&
  a.counts === b.counts &&
  a.around === b.around &&
  a.readings === b.readings &&
  a.nodes.length === b.nodes.length &&
  a.nodes.every((node, n) => node === b.nodes[n])
