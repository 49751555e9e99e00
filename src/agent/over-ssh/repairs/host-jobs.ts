// The repairs that a Machine orders on a host without an agent: the agent's own plan and journal for each job, with hands over SSH. Jobs are read in each round
// of a session instead of watched.
import type { Clock } from '#lib/clock.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeClient } from '#kube/client.ts'
import { JobWorker, type JobDeps } from '../../repair/worker.ts'

export interface HostJobsDeps extends JobDeps {
  readonly client: KubeClient
  readonly clock: Clock
}

/** Each of them is a read of the API server. */
const READ_EVERY_MS = 2_000
/** Later, a step that takes long would not end within the session; the next one begins it. */
const BEGIN_WITHIN_MS = 5 * 60_000

export class HostJobs {
  readonly #deps: HostJobsDeps
  readonly #workers = new Map<string, JobWorker>()
  readonly #startedAt: number
  #readAt: number | undefined

  constructor(deps: HostJobsDeps) {
    this.#deps = deps
    this.#startedAt = deps.clock.monotonic()
  }

  get areQuiet(): boolean {
    return [...this.#workers.values()].every((w) => w.isQuiet)
  }

  /** Throws when the API server does not answer. */
  async follow(names: readonly string[]): Promise<void> {
    const { client, clock } = this.#deps
    const now = clock.monotonic()
    if (this.#readAt !== undefined && now - this.#readAt < READ_EVERY_MS) return
    if (now - this.#startedAt > BEGIN_WITHIN_MS) return this.close()
    this.#readAt = now
    for (const [name, worker] of this.#workers) {
      if (names.includes(name)) continue
      worker.close()
      this.#workers.delete(name)
    }
    for (const name of names) {
      const job = await client.get(remedyOperationJob, { name })
      const worker = this.#workers.get(name) ?? new JobWorker(this.#deps, name)
      this.#workers.set(name, worker)
      worker.setJob(job)
    }
  }

  /** Steps under way end on the host; none is begun. */
  close(): void {
    for (const worker of this.#workers.values()) worker.close()
  }
}
