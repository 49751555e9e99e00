// One named watch and one worker for each job on the Machine; both end when the Machine no longer lists the job.
import type { Random } from '#lib/random.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { RunningByName, type Running } from '../running.ts'
import { watchNamed } from '../watch.ts'
import { JobWorker, type JobDeps } from './worker.ts'

export type JobWatchDeps = JobDeps & { readonly random: Random }

export const jobWatches = (deps: JobWatchDeps): RunningByName => new RunningByName((name) => watched(deps, name))

function watched(deps: JobWatchDeps, name: string): Running {
  const stop = new AbortController()
  const worker = new JobWorker(deps, name)
  const { client, clock, random, log } = deps
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
