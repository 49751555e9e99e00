// The requests for logs that the Machine carries: one answer for each, which ends when the Machine no longer carries it.
import { requestOf } from '#api/protocol/log-requests.ts'
import { LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { RunningByName, type Running } from '../running.ts'
import { answerLogRequest, type LogAnswerDeps } from './log-answer.ts'

export interface LogAnswersDeps extends LogAnswerDeps {
  /** Of the agent; tickets are sealed to it. */
  readonly privateKey: string
}

export class LogAnswers {
  readonly #deps: LogAnswersDeps
  /** By ticket; also those that were answered, as long as the Machine carries them. */
  readonly #answers = new RunningByName((ticket) => this.#start(ticket))

  constructor(deps: LogAnswersDeps) {
    this.#deps = deps
  }

  watch(tickets: readonly string[]): void {
    this.#answers.watch(tickets, LOG_REQUESTS_OF_MACHINE)
  }

  close(): Promise<void> {
    return this.#answers.close()
  }

  #start(ticket: string): Running {
    const { machine, privateKey } = this.#deps
    const stop = new AbortController()
    const name = requestOf(privateKey, machine, ticket)
    // Not for this agent, such as for the key that it had before. The command reports that no agent answered.
    const done = name === undefined ? Promise.resolve() : answerLogRequest(this.#deps, name, ticket, stop.signal)
    return { end: (why) => stop.abort(why), done }
  }
}
