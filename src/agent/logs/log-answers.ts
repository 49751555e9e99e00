// The log requests on the Machine: one answer each, which ends when the Machine no longer lists the request.
import { requestOf } from '#api/protocol/log-requests.ts'
import { LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { RunningByName, type Running } from '../running.ts'
import { answerLogRequest, type LogAnswerDeps } from './log-answer.ts'

export interface LogAnswersDeps extends LogAnswerDeps {
  /** The agent's key; tickets are sealed to it. */
  readonly privateKey: string
}

/** By ticket. Includes answered requests as long as the Machine lists them. */
export const logAnswers = (deps: LogAnswersDeps): RunningByName =>
  new RunningByName((ticket) => answered(deps, ticket), LOG_REQUESTS_OF_MACHINE)

function answered(deps: LogAnswersDeps, ticket: string): Running {
  const stop = new AbortController()
  const name = requestOf(deps.privateKey, deps.machine, ticket)
  // Not for this agent, for example sealed to its previous key. The command reports that no agent answered.
  const done = name === undefined ? Promise.resolve() : answerLogRequest(deps, name, ticket, stop.signal)
  return { end: (why) => stop.abort(why), done }
}
