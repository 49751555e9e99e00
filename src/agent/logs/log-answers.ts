// The requests for logs that the Machine carries: one answer for each, which ends when the Machine no longer carries it.
import { requestOf } from '#api/protocol/log-requests.ts'
import { LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { answerLogRequest, type LogAnswerDeps } from './log-answer.ts'

export interface LogAnswersDeps extends LogAnswerDeps {
  /** Of the agent; tickets are sealed to it. */
  readonly privateKey: string
}

interface Open {
  readonly stop: AbortController
  readonly done: Promise<void>
}

export class LogAnswers {
  readonly #deps: LogAnswersDeps
  /** By ticket; also those that were answered, as long as the Machine carries them. */
  readonly #open = new Map<string, Open>()

  constructor(deps: LogAnswersDeps) {
    this.#deps = deps
  }

  watch(tickets: readonly string[]): void {
    for (const [ticket, { stop }] of this.#open) {
      if (tickets.includes(ticket)) continue
      this.#open.delete(ticket)
      stop.abort(new Error('no longer requested'))
    }
    for (const ticket of tickets.slice(0, LOG_REQUESTS_OF_MACHINE))
      if (!this.#open.has(ticket)) this.#open.set(ticket, this.#start(ticket))
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const { stop } of all) stop.abort(new Error('the agent stops'))
    await Promise.all(all.map(({ done }) => done))
  }

  #start(ticket: string): Open {
    const { machine, privateKey } = this.#deps
    const stop = new AbortController()
    const name = requestOf(privateKey, machine, ticket)
    // Not for this agent, such as for the key that it had before. The command reports that no agent answered.
    const done = name === undefined ? Promise.resolve() : answerLogRequest(this.#deps, name, ticket, stop.signal)
    return { stop, done }
  }
}
