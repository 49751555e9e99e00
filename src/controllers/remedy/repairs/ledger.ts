// The jobs that this process knows. Jobs that it reads or creates go into the cache at once, because a limit must not be checked against a stale
// cache.
import { listAll } from '#kube/list-all.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeClient } from '#kube/client.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { JobBook } from './history.ts'

/** Every job as the server has it now. */
export const freshJobs = (client: KubeClient, signal: AbortSignal): Promise<readonly RemedyOperationJob[]> =>
  listAll(client, remedyOperationJob, { signal })

export class JobLedger {
  readonly #cache: SharedInformer<RemedyOperationJob>
  /** The cache's content, by node and by rule. */
  readonly #book = new JobBook()
  /** Another leader may have created jobs before this term, and a write with a lost reply may have succeeded. */
  #isSure = false

  constructor(cache: SharedInformer<RemedyOperationJob>) {
    this.#cache = cache
    cache.onChange((before, now) => {
      const name = (now ?? before)?.metadata.name ?? ''
      this.#book.put(name, cache.get(name))
    })
  }

  /** Whether no job can be missing. Only then may another one be created. */
  get isSure(): boolean {
    return this.#isSure
  }

  list(): readonly RemedyOperationJob[] {
    return this.#book.list()
  }

  /** All jobs of the server. */
  noteRead(jobs: readonly RemedyOperationJob[]): void {
    const areKnown = jobs.map((job) => this.#cache.assume(job))
    this.#isSure = areKnown.every((isKnown) => isKnown)
  }

  /** `job` is the server's answer. Without it the job already existed, and the server must be asked. */
  noteMade(name: string, job: RemedyOperationJob | undefined): void {
    if (this.#cache.get(name) !== undefined) return
    if (job === undefined || !this.#cache.assume(job)) this.noteDoubt()
  }

  noteDoubt(): void {
    this.#isSure = false
  }
}
