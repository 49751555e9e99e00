// The past jobs of a rule and of a node. Jobs are kept for a day after they close, so this needs no memory of its own.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ANNOTATIONS } from '#api/names.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

export const isOpen = (job: RemedyOperationJob): boolean => job.status?.phase !== 'Done'
const createdAt = (job: RemedyOperationJob): number => timeOf(job.metadata.creationTimestamp) ?? 0
export const finishedAt = (job: RemedyOperationJob): number => timeOf(job.status?.finishedAt) ?? createdAt(job)
export const hasStarted = (job: RemedyOperationJob): boolean => job.status?.startedAt !== undefined
const machineUidOf = (job: RemedyOperationJob): string | undefined => job.metadata.annotations?.[ANNOTATIONS.machineUid]
export const ruleOf = (job: RemedyOperationJob): string => job.spec.remedierRef.name
/** Nothing irreversible was requested or done yet. */
export const isWaiting = (job: RemedyOperationJob): boolean =>
  job.status?.phase === undefined || job.status.phase === 'Pending' || job.status.phase === 'AwaitingPermit'

/** Later first. Within one second (the resolution of timestamps), the higher rung and attempt is later. */
const later = (a: RemedyOperationJob, b: RemedyOperationJob): number =>
  createdAt(b) - createdAt(a) ||
  finishedAt(b) - finishedAt(a) ||
  b.spec.rung - a.spec.rung ||
  b.spec.attempt - a.spec.attempt ||
  (String(a.metadata.name) < String(b.metadata.name) ? -1 : 1)

export const lastJob = (jobs: readonly RemedyOperationJob[]): RemedyOperationJob | undefined => jobs.toSorted(later)[0]

/** It ended without having done anything. */
const isSkipped = ({ status }: RemedyOperationJob): boolean =>
  status?.outcome === 'Escalated' &&
  status.steps !== undefined &&
  status.steps.length > 0 &&
  status.steps.every((s) => s.outcome === 'Skipped')

/** When it counts as a repair: from its start. A dry run never starts. */
const countsFrom = (job: RemedyOperationJob): number | undefined =>
  isSkipped(job) ? undefined : timeOf(job.spec.dryRun ? job.metadata.creationTimestamp : job.status?.startedAt)

/** Counts repairs that started in the last `windowMs`, and all that still may. A timestamp in the future means a wrong clock, and counts. */
export function countRepairs(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number {
  return jobs.filter((job) => {
    if (isOpen(job)) return true
    const at = countsFrom(job)
    return at !== undefined && now - at < windowMs
  }).length
}

/** When the first counted repair leaves the window. Undefined if none will on its own. */
export function untilOneLeaves(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number | undefined {
  const ends = jobs.flatMap((job) => {
    const at = isOpen(job) ? undefined : countsFrom(job)
    return at !== undefined && now - at < windowMs ? [at + windowMs - now] : []
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}

export interface Tally {
  readonly open: number
  readonly lastHour: number
  readonly lastDay: number
  readonly hourLeavesInMs: number | undefined
  readonly dayLeavesInMs: number | undefined
}

/** Valid until something changes, a job leaves a window, or a clock was set back. */
interface Counted extends Pick<Tally, 'open' | 'lastHour' | 'lastDay'> {
  readonly at: number
  /** Infinity: never on its own. */
  readonly hourLeavesAt: number
  readonly dayLeavesAt: number
}

interface OfRule {
  readonly jobs: Map<string, RemedyOperationJob>
  counted?: Counted | undefined
}

/** Books by the list that they returned, so that a caller with the same list does not sort it again. */
const BEHIND = new WeakMap<readonly RemedyOperationJob[], JobBook>()

/** All jobs, by node and by rule. A changed job costs one update instead of a pass over a day's jobs. */
export class JobBook {
  readonly #jobs = new Map<string, RemedyOperationJob>()
  readonly #byNode = new Map<string, Map<string, RemedyOperationJob>>()
  /** By UID of the Machine. */
  readonly #byMachine = new Map<string, Map<string, RemedyOperationJob>>()
  readonly #byRule = new Map<string, OfRule>()
  #list: readonly RemedyOperationJob[] | undefined

  static of(jobs: readonly RemedyOperationJob[]): JobBook {
    const known = BEHIND.get(jobs)
    if (known !== undefined) return known
    const book = new JobBook()
    for (const [n, job] of jobs.entries()) book.put(String(n), job)
    return book
  }

  /** `job` undefined: it was deleted. */
  put(name: string, job: RemedyOperationJob | undefined): void {
    const before = this.#jobs.get(name)
    if (before === job) return
    if (before !== undefined) this.#drop(name, before)
    this.#list = undefined
    if (job === undefined) return
    this.#jobs.set(name, job)
    add(this.#byNode, job.spec.node.uid, name, job)
    const machine = machineUidOf(job)
    if (machine !== undefined) add(this.#byMachine, machine, name, job)
    const sort = sortOf(ruleOf(job), job.spec.dryRun)
    const ofRule = this.#byRule.get(sort) ?? { jobs: new Map<string, RemedyOperationJob>() }
    this.#byRule.set(sort, ofRule)
    ofRule.jobs.set(name, job)
    ofRule.counted = undefined
  }

  /** The same list until something changes. */
  list(): readonly RemedyOperationJob[] {
    if (this.#list === undefined) {
      this.#list = [...this.#jobs.values()]
      BEHIND.set(this.#list, this)
    }
    return this.#list
  }

  ofNode(uid: string): readonly RemedyOperationJob[] {
    return [...(this.#byNode.get(uid)?.values() ?? [])]
  }

  ofMachine(uid: string): readonly RemedyOperationJob[] {
    return [...(this.#byMachine.get(uid)?.values() ?? [])]
  }

  ofRule(rule: string, dryRun: boolean, now: number): Tally {
    const ofRule = this.#byRule.get(sortOf(rule, dryRun))
    if (ofRule === undefined) return NONE
    if (ofRule.counted === undefined || !stillHolds(ofRule.counted, now))
      ofRule.counted = countedAt(ofRule.jobs.values(), now)
    const { open, lastHour, lastDay, hourLeavesAt, dayLeavesAt } = ofRule.counted
    const inMs = (at: number) => (at === Infinity ? undefined : at - now)
    return { open, lastHour, lastDay, hourLeavesInMs: inMs(hourLeavesAt), dayLeavesInMs: inMs(dayLeavesAt) }
  }

  #drop(name: string, job: RemedyOperationJob): void {
    const sort = sortOf(ruleOf(job), job.spec.dryRun)
    this.#jobs.delete(name)
    remove(this.#byNode, job.spec.node.uid, this.#byNode.get(job.spec.node.uid), name)
    const machine = machineUidOf(job) ?? ''
    remove(this.#byMachine, machine, this.#byMachine.get(machine), name)
    const ofRule = this.#byRule.get(sort)
    if (ofRule !== undefined) ofRule.counted = undefined
    remove(this.#byRule, sort, ofRule?.jobs, name)
  }
}

function add(
  all: Map<string, Map<string, RemedyOperationJob>>,
  key: string,
  name: string,
  job: RemedyOperationJob,
): void {
  const jobs = all.get(key) ?? new Map<string, RemedyOperationJob>()
  all.set(key, jobs.set(name, job))
}

function remove(
  all: Map<string, unknown>,
  key: string,
  jobs: Map<string, RemedyOperationJob> | undefined,
  name: string,
) {
  jobs?.delete(name)
  if (jobs?.size === 0) all.delete(key)
}

const NONE: Tally = { open: 0, lastHour: 0, lastDay: 0, hourLeavesInMs: undefined, dayLeavesInMs: undefined }

/** What `countRepairs` and `untilOneLeaves` say of an hour and of a day, in one pass. */
function countedAt(jobs: Iterable<RemedyOperationJob>, now: number): Counted {
  let [open, lastHour, lastDay] = [0, 0, 0]
  let [hourLeavesAt, dayLeavesAt] = [Infinity, Infinity]
  for (const job of jobs) {
    if (isOpen(job)) {
      open++
      continue
    }
    const at = countsFrom(job)
    if (at === undefined || now - at >= DAY_MS) continue
    lastDay++
    dayLeavesAt = Math.min(dayLeavesAt, at + DAY_MS)
    if (now - at >= HOUR_MS) continue
    lastHour++
    hourLeavesAt = Math.min(hourLeavesAt, at + HOUR_MS)
  }
  return { at: now, open, lastHour: open + lastHour, lastDay: open + lastDay, hourLeavesAt, dayLeavesAt }
}

const stillHolds = ({ at, hourLeavesAt, dayLeavesAt }: Counted, now: number): boolean =>
  at <= now && now < Math.min(hourLeavesAt, dayLeavesAt)

const sortOf = (rule: string, dryRun: boolean): string => `${rule}\n${dryRun}`

/** The jobs of one reconcile, at one time. */
export class History {
  readonly #book: JobBook
  readonly #now: number

  constructor(jobs: readonly RemedyOperationJob[], now: number) {
    this.#book = JobBook.of(jobs)
    this.#now = now
  }

  ofNode(uid: string): readonly RemedyOperationJob[] {
    return this.#book.ofNode(uid)
  }

  /** Also from when its Node had another UID: a host that registers again after each reboot is the same patient. */
  ofHost({
    uid,
    machineUid,
  }: {
    readonly uid: string
    readonly machineUid: string | undefined
  }): readonly RemedyOperationJob[] {
    if (machineUid === undefined) return this.ofNode(uid)
    return [...new Set([...this.#book.ofNode(uid), ...this.#book.ofMachine(machineUid)])]
  }

  /** Counts repairs or dry runs. */
  ofRule(rule: string, dryRun: boolean): Tally {
    return this.#book.ofRule(rule, dryRun, this.#now)
  }
}
