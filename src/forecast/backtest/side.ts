// One side of the open loop: its repairs, its permits, and the evidence about each repair.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import { defined } from '#lib/defined.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'
import { type PermitWorld, PermitRun } from './permits.ts'
import type { Recorded } from './recorded.ts'
import type { ReplayedJob } from './replayed-job.ts'
import { RepairRun, type RunOptions, type Surroundings } from './run.ts'
import type { RuleSet } from './rule-set.ts'
import { type PlaceKind, SideSums, takesOut } from './sums.ts'
import type { SideVerdicts } from './verdicts.ts'

export interface Place {
  readonly name: string
  /** Machines there. */
  readonly machines: number
}

export interface SideOptions extends Pick<RunOptions, 'durationMs' | 'recordedAs'> {
  readonly rules: RuleSet
  readonly policies: () => readonly CompiledPolicy[]
  readonly recorded: Recorded
  readonly placeOf: (job: RemedyOperationJob, kind: PlaceKind) => Place | undefined
  readonly machineUidOf: (job: RemedyOperationJob) => string | undefined
  readonly onJob: (replayed: ReplayedJob) => void
  readonly onNeedless: (replayed: ReplayedJob, clearedAt: number) => void
  /** A recorded request of someone else was granted by the policies of this side. */
  readonly onOthersGranted: (permit: string, now: number) => void
  /** A repair of the node began, ended, or was asked for. */
  readonly onRepair: (node: string) => void
}

/** Grants make repairs start, and ended repairs make room for others. */
const MOST_ROUNDS = 20
const PLACES = ['zone', 'rack'] as const

export class OpenSide {
  readonly run: RepairRun
  readonly permits: PermitRun
  readonly sums = new SideSums()
  readonly #options: SideOptions
  /** Jobs of which it is not known yet whether they were needed. */
  readonly #unjudged = new Set<ReplayedJob>()
  readonly #censored = new WeakSet<ReplayedJob>()
  readonly #out = new Map<ReplayedJob, readonly (readonly [PlaceKind, Place])[]>()
  readonly #lastEnd = new Map<string, number>()
  #version = -1

  constructor(options: SideOptions) {
    this.#options = options
    const { rules, durationMs, recordedAs, policies, machineUidOf } = options
    this.permits = new PermitRun({
      policies,
      onGranted: (permit, now) => {
        const name = permit.metadata.name ?? ''
        if (permit.spec.requester.kind === 'RemedyOperationJob') this.run.granted(name, now)
        else options.onOthersGranted(name, now)
      },
      onDenied: (permit, now) => this.run.refused(permit.metadata.name ?? '', now),
      onBound: (bound, now) => this.sums.permitBound.now(bound, now),
    })
    this.run = new RepairRun({
      rules,
      durationMs,
      ...defined({ recordedAs }),
      ask: (job, now) => this.permits.ask(job, machineUidOf(job), now),
      onCreated: (replayed, why) => this.#created(replayed, why),
      onCleared: (replayed, now) => this.#judge(replayed, now, true),
      onStarted: (replayed, now) => this.#started(replayed, now),
      onFinished: (replayed, now) => this.#finished(replayed, now),
      onBound: (bound, now) => this.sums.bound.now(bound, now),
    })
  }

  get wakeAt(): number {
    return Math.min(this.run.wakeAt, this.permits.wakeAt)
  }

  isDue(now: number, version: number): boolean {
    return this.run.isDue || this.permits.isDue || version !== this.#version || this.wakeAt <= now
  }

  /** `verdicts` may be asked for again: a repair changes what rules read. */
  async step(
    now: number,
    verdicts: () => Promise<SideVerdicts>,
    version: () => number,
    around: Surroundings,
    world: PermitWorld,
  ): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS && this.isDue(now, version()); round++) {
      const seen = await verdicts()
      this.#version = version()
      this.run.step(now, seen, around)
      for (const replayed of this.#unjudged)
        if (now >= replayed.createdAt + replayed.durationMs) this.#judge(replayed, now, false)
      if (this.permits.isDue || this.permits.wakeAt <= now) await this.permits.step(now, world)
    }
  }

  /** Whether the side repairs the node, or did since then. */
  hasRepaired(uid: string, since: number): boolean {
    return this.run.hasOpen(uid) || (this.#lastEnd.get(uid) ?? -Infinity) >= since
  }

  #created(replayed: ReplayedJob, why: string): void {
    const { onJob, onRepair, recorded } = this.#options
    this.sums.created(replayed, why)
    if (replayed.job.spec.dryRun) return
    const { uid, name } = replayed.job.spec.node
    onRepair(name)
    onJob(replayed)
    if (recorded.isCensored(uid)) this.#censor(replayed)
    else this.#unjudged.add(replayed)
  }

  #censor(replayed: ReplayedJob): void {
    this.#censored.add(replayed)
    this.#unjudged.delete(replayed)
    this.sums.of(ruleOf(replayed.job)).censored++
  }

  /** Needless: the fault ended by itself in the time that the repair takes. */
  #judge(replayed: ReplayedJob, now: number, isCleared: boolean): void {
    if (!this.#unjudged.delete(replayed)) return
    if (this.#options.recorded.hasRepairSince(replayed.job.spec.node.uid, replayed.createdAt))
      return this.#censor(replayed)
    const sums = this.sums.of(ruleOf(replayed.job))
    sums.judged++
    if (!isCleared || now > replayed.createdAt + replayed.durationMs) return
    sums.needless++
    this.#options.onNeedless(replayed, now)
  }

  #started(replayed: ReplayedJob, now: number): void {
    this.#options.onRepair(replayed.job.spec.node.name)
    if (!takesOut(replayed) || this.#out.has(replayed)) return
    const places = PLACES.flatMap((kind) => {
      const place = this.#options.placeOf(replayed.job, kind)
      return place === undefined ? [] : [[kind, place] as const]
    })
    this.#out.set(replayed, places)
    for (const [kind, place] of places) this.sums.peaks.change(kind, place.name, 1, place.machines, now)
  }

  #finished(replayed: ReplayedJob, now: number): void {
    const { node } = replayed.job.spec
    this.sums.finished(replayed)
    this.#options.onRepair(node.name)
    if (!replayed.job.spec.dryRun) {
      this.#lastEnd.set(node.uid, now)
      if (this.#lastEnd.size > MOST_NODES) this.#lastEnd.delete(this.#lastEnd.keys().next().value ?? '')
    }
    for (const [kind, place] of this.#out.get(replayed) ?? [])
      this.sums.peaks.change(kind, place.name, -1, place.machines, now)
    this.#out.delete(replayed)
    this.permits.ended(replayed.job.metadata.name ?? '', resultOf(replayed))
  }
}

const MOST_NODES = 50_000

/** A repair that did not happen has neither succeeded nor failed: breakers of policies must not count it. */
function resultOf({ isRecorded, startedAt, job }: ReplayedJob): 'Released' | 'Succeeded' | 'Failed' {
  if (!isRecorded || startedAt === undefined) return 'Released'
  return job.status?.outcome === 'Succeeded' ? 'Succeeded' : 'Failed'
}
