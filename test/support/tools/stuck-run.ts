// Ends the processes of a run in which nothing has ended for a long time, and names their files: a loop that never waits cannot be ended by a test's own timeout,
// and it would otherwise run until the whole run is ended from outside.
import { readFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** Longer than any test or hook may take. */
const LONGEST_MS = 900_000
const LOOK_MS = 30_000

export class StuckRun implements Reporter {
  readonly #running = new Set<string>()
  #heardAt = performance.now()
  #looks: NodeJS.Timeout | undefined

  onTestRunStart(): void {
    this.#looks = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  onTestModuleQueued({ relativeModuleId }: TestModule): void {
    this.#running.add(relativeModuleId)
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#running.delete(relativeModuleId)
    this.#hear()
  }

  onTestCaseResult(): void {
    this.#hear()
  }

  onTestRunEnd(): void {
    clearInterval(this.#looks)
  }

  #hear(): void {
    this.#heardAt = performance.now()
  }

  #look(): void {
    const stuck = stuckFiles([...this.#running], performance.now() - this.#heardAt)
    if (stuck === undefined) return
    console.error(` stuck: no test has ended for ${LONGEST_MS / 60_000} minutes in ${stuck.join(', ')}`)
    for (const pid of childrenOf(process.pid)) process.kill(pid, 'SIGKILL')
    this.#hear()
  }
}

/** Pure, so that it can be tested. */
export const stuckFiles = (running: readonly string[], silentMs: number): readonly string[] | undefined =>
  running.length > 0 && silentMs > LONGEST_MS ? running : undefined

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
