// One named watch and one worker for each job that the Machine lists; both end when the Machine no longer lists the job.
import type { Random } from '#lib/random.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { RunningByName, type Running } from '../running.ts'
import { watchNamed } from '../watch.ts'
import { JobWorker, type JobDeps } from './worker.ts'

export type JobWatchDeps = JobDeps & { readonly random: Random }

export class JobWatches {
  readonly #deps: JobWatchDeps
  readonly #watches = new RunningByName((name) => this.#start(name))

  constructor(deps: JobWatchDeps) {
    this.#deps = deps
  }

  watch(names: readonly string[]): void {
    this.#watches.watch(names)
  }

  close(): Promise<void> {
    return this.#watches.close()
  }

  #start(name: string): Running {
    const stop = new AbortController()
    const worker = new JobWorker(this.#deps, name)
    const { client, clock, random, log } = this.#deps
    const done = watchNamed(
      { client, clock, random, log, type: remedyOperationJob, name, onObject: (job) => worker.setJob(job) },
      stop.signal,
    )
    const end = (why: Error): void => {
      stop.abort(why)
      worker.close()
    }
    return { end, done }
  }
}
