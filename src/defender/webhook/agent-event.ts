// Answers the AdmissionReview of an agent's event: allowed while the Machine in its certificate exists and its key is not revoked. A policy compares
// an agent with what it writes, but cannot check whether its Machine still exists.
import { agentAccountUser, agentUser, machineUidGroup } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { acceptsKey, hasAcceptedKey } from '#identity/agent-key.ts'
import { type AdmissionAnswer, allowed, forbidden } from './answer.ts'
import type { AdmissionRequest, FindMachine } from './review.ts'

export function reviewAgentEvent(
  { uid, userInfo, object }: AdmissionRequest,
  findMachine: FindMachine,
): AdmissionAnswer {
  const problem = problemOf(userInfo, object, findMachine)
  return problem === undefined ? allowed(uid) : forbidden(uid, `event refused: ${problem}`)
}

const USER = agentUser('')
const UID = machineUidGroup('')

const ACCOUNT = agentAccountUser('')

/** An account contains only the uid. The policy has already checked which machine the event is about. */
function accountProblem(uid: string, event: unknown, findMachine: FindMachine): string | undefined {
  const name = isObject(event) ? event['reportingInstance'] : undefined
  const machine = typeof name === 'string' ? findMachine(name) : undefined
  if (machine?.metadata.uid !== uid) return 'the Machine of this account does not exist'
  return hasAcceptedKey(machine) ? undefined : 'the key of this agent was revoked'
}

function problemOf(userInfo: unknown, event: unknown, findMachine: FindMachine): string | undefined {
  const { username, groups }: Readonly<Record<string, unknown>> = isObject(userInfo) ? userInfo : {}
  if (typeof username === 'string' && username.startsWith(ACCOUNT))
    return accountProblem(username.slice(ACCOUNT.length), event, findMachine)
  if (typeof username !== 'string' || !username.startsWith(USER)) return 'the review names no agent'
  const named = Array.isArray(groups) ? groups.filter((g): g is string => typeof g === 'string') : []
  const machine = findMachine(username.slice(USER.length))
  const uids = named.filter((g) => g.startsWith(UID))
  const isOfIt = machine !== undefined && uids.length === 1 && uids[0] === machineUidGroup(machine.metadata.uid ?? '')
  if (!isOfIt) return 'the Machine that this agent has a certificate of does not exist'
  return acceptsKey(machine, named) ? undefined : 'the key of this agent was revoked'
}
