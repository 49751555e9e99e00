// One named watch and one worker for each job that the Machine lists; both end when the Machine no longer lists the job.
import type { Random } from '#lib/random.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { watchNamed } from '../watch.ts'
import { JobWorker, type JobDeps } from './worker.ts'

export type JobWatchDeps = JobDeps & { readonly random: Random }

interface Open {
  readonly stop: AbortController
  readonly worker: JobWorker
  readonly done: Promise<void>
}

export class JobWatches {
  readonly #deps: JobWatchDeps
  readonly #open = new Map<string, Open>()

  constructor(deps: JobWatchDeps) {
    this.#deps = deps
  }

  watch(names: readonly string[]): void {
    const wanted = new Set(names)
    for (const [name, open] of this.#open) {
      if (wanted.has(name)) continue
      this.#open.delete(name)
      void end(open)
    }
    for (const name of wanted) if (!this.#open.has(name)) this.#open.set(name, this.#start(name))
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(all.map(end))
  }

  #start(name: string): Open {
    const stop = new AbortController()
    const worker = new JobWorker(this.#deps, name)
    const { client, clock, random, log } = this.#deps
    const done = watchNamed(
      { client, clock, random, log, type: remedyOperationJob, name, onObject: (job) => worker.setJob(job) },
      stop.signal,
    )
    return { stop, worker, done }
  }
}

async function end({ stop, worker, done }: Open): Promise<void> {
  stop.abort(new Error('no longer listed'))
  worker.close()
  await done
}
