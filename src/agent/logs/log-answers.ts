// The requests for logs that the Machine carries: one answer for each, which ends when the Machine no longer carries it.
import { requestOf } from '#api/protocol/log-requests.ts'
import { LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { RunningByName, type Running } from '../running.ts'
import { answerLogRequest, type LogAnswerDeps } from './log-answer.ts'

export interface LogAnswersDeps extends LogAnswerDeps {
  /** Of the agent; tickets are sealed to it. */
  readonly privateKey: string
}

/** By ticket; also those that were answered, as long as the Machine carries them. */
export const logAnswers = (deps: LogAnswersDeps): RunningByName =>
  new RunningByName((ticket) => answered(deps, ticket), LOG_REQUESTS_OF_MACHINE)

function answered(deps: LogAnswersDeps, ticket: string): Running {
  const stop = new AbortController()
  const name = requestOf(deps.privateKey, deps.machine, ticket)
  // Not for this agent, such as for the key that it had before. The command reports that no agent answered.
  const done = name === undefined ? Promise.resolve() : answerLogRequest(deps, name, ticket, stop.signal)
  return { end: (why) => stop.abort(why), done }
}
