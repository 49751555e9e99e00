// The repairs that really happened, as the stream reaches them: their states, and which nodes a repair or a person changed, so that their future proves nothing.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { DeedLine } from '#history/deeds/chain.ts'
import type { Measured } from './measured.ts'

/** After a repair or a person's work, so long without a fault counts as over. */
const CLEAR_MS = 10 * 60_000

interface Censored {
  openJobs: number
  isPersonAtWork: boolean
  clearSince: number | undefined
}

export interface RecordedOptions {
  readonly measured: Measured
  /** The conditions that the rule reads, as a word. */
  readonly familyOf: (rule: string) => string
}

export class Recorded {
  readonly #jobs = new Map<string, RemedyOperationJob>()
  readonly #censored = new Map<string, Censored>()
  /** Node UID → when a real repair last started on it. */
  readonly #lastStart = new Map<string, number>()
  readonly #options: RecordedOptions

  constructor(options: RecordedOptions) {
    this.#options = options
  }

  job(name: string): RemedyOperationJob | undefined {
    return this.#jobs.get(name)
  }

  jobs(): Iterable<RemedyOperationJob> {
    return this.#jobs.values()
  }

  /** Returns whether the job is new. */
  put(name: string, job: RemedyOperationJob | undefined, now: number): boolean {
    const before = this.#jobs.get(name)
    if (job === undefined) {
      this.#jobs.delete(name)
      if (before !== undefined && isAtWork(before)) this.#end(before)
      return false
    }
    this.#jobs.set(name, job)
    const wasAtWork = before !== undefined && isAtWork(before)
    if (!wasAtWork && isAtWork(job)) this.#begin(job, now)
    if (wasAtWork && !isAtWork(job)) this.#end(job)
    const isOver = job.status?.phase === 'Done' && before?.status?.phase !== 'Done'
    if (isOver && !job.spec.dryRun) {
      // Begun and ended between two observations.
      if (!wasAtWork && job.status?.startedAt !== undefined) {
        this.#begin(job, now)
        this.#end(job)
      }
      this.#options.measured.note(job, this.#options.familyOf(job.spec.remedierRef.name))
    }
    return before === undefined
  }

  takeDeed(deed: DeedLine, uidOf: (node: string) => string | undefined): void {
    const node = nodeOfPerson(deed)
    const uid = node === undefined ? undefined : uidOf(node)
    if (uid === undefined) return
    this.#of(uid).isPersonAtWork = deed.what === CORDONED
  }

  /** Whether what happens to the node now is evidence about a rule. */
  isCensored(uid: string): boolean {
    return this.#censored.has(uid)
  }

  /** Whether a real repair began on the node since then. */
  hasRepairSince(uid: string, since: number): boolean {
    return (this.#lastStart.get(uid) ?? -Infinity) >= since
  }

  /** `isFaulty`: by UID. */
  sweep(now: number, isFaulty: (uid: string) => boolean): void {
    for (const [uid, one] of this.#censored) {
      if (one.openJobs > 0 || one.isPersonAtWork || isFaulty(uid)) one.clearSince = undefined
      else {
        one.clearSince ??= now
        if (now - one.clearSince >= CLEAR_MS) this.#censored.delete(uid)
      }
    }
  }

  #begin(job: RemedyOperationJob, now: number): void {
    this.#of(job.spec.node.uid).openJobs++
    this.#lastStart.set(job.spec.node.uid, now)
  }

  #end(job: RemedyOperationJob): void {
    const one = this.#of(job.spec.node.uid)
    one.openJobs = Math.max(0, one.openJobs - 1)
  }

  #of(uid: string): Censored {
    const known = this.#censored.get(uid) ?? { openJobs: 0, isPersonAtWork: false, clearSince: undefined }
    this.#censored.set(uid, known)
    return known
  }
}

const isAtWork = ({ spec, status }: RemedyOperationJob): boolean =>
  !spec.dryRun && status?.startedAt !== undefined && status.phase !== 'Done'

export const CORDONED = 'cordoned'

/** The node that a person, or a program that is not ours, changed. */
export const nodeOfPerson = ({ who, did, object }: DeedLine): string | undefined =>
  did !== 'changed' || !object.startsWith('node/') || who.startsWith('kubenode-')
    ? undefined
    : object.slice('node/'.length)
