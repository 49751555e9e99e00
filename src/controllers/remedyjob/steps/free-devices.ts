// The jobs after which this process has ended the isolation of devices: nothing of it is left to look for.

/** Beyond this the oldest are forgotten, and their devices are freed once more. */
const MOST_JOBS = 1_000

export class FreeDevices {
  readonly #jobs = new Set<string>()

  note(job: string): void {
    const [oldest] = this.#jobs
    if (oldest !== undefined && this.#jobs.size >= MOST_JOBS) this.#jobs.delete(oldest)
    this.#jobs.add(job)
  }

  has(job: string): boolean {
    return this.#jobs.has(job)
  }
}
