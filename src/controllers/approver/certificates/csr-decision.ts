// Decides whether a certificate request comes from an agent for its own machine. Pure. Approves one exact identity, denies every other request for an
// agent's identity, and ignores the rest.
import type { Machine } from '#api/kinds/machine.ts'
import {
  AGENTS_GROUP,
  AGENT_SIGNER,
  BOOTSTRAP_GROUP,
  DOOR_USER,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
  tokenKeyGroup,
} from '#api/names.ts'
import {
  acceptsKey,
  acceptsProvedKey,
  isKeyRevoked,
  isRevoked,
  keyIn,
  recordedKey,
  shortKey,
} from '#identity/agent-key.ts'
import {
  extrasProblem,
  joinerUidIn,
  keyProvedIn,
  lifeProblem,
  tokenIdIn,
  tokenKeyIn,
  usageProblem,
} from '#identity/agent-request.ts'
import { DEFAULT_LIFE_SECONDS } from '#identity/certificate-life.ts'
import type { CertificateRequest } from '#identity/certificate-request.ts'
import { tokenExpiresAt } from '#identity/join-token.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import type { Secret } from '#nodes/objects.ts'
import type { ContentRead, RequestContent } from '#identity/request-content.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { subdomainProblems } from '#api/schema/name-problems.ts'
import { isJoinAccountOf } from '../accounts/join-accounts.ts'
import { isTokenOf, isUnused } from '../join-tokens/token.ts'
import { defined } from '#lib/defined.ts'

export type CsrDecision =
  /** Not a request for an agent, or already decided. */
  | { readonly kind: 'Ignore'; readonly why: string }
  | {
      readonly kind: 'Approve'
      readonly machine: string
      readonly key: string
      /** The key of the certificate that made the request, if it names one. */
      readonly by?: string
      /** Its tokens are sealed to this key. */
      readonly tokenKey?: string
      readonly message: string
    }
  /** A person decides. The request stays pending. */
  | { readonly kind: 'Wait'; readonly message: string }
  /** `tooLong`: the agent may ask again for a shorter lifetime. */
  | { readonly kind: 'Deny'; readonly message: string; readonly tooLong?: boolean }

export interface CsrSeen {
  readonly request: CertificateRequest
  readonly content: ContentRead
  /** The machine in the common name, read from the server. */
  readonly machine: Machine | undefined
  /** The Secret of the requester's token, or its join account, read from the server. */
  readonly token: Secret | undefined
  /** Other Machines that claim the same Node, by status or by name. */
  readonly competing: readonly string[]
}

const USER_PREFIX = agentUser('')

export const tokenIdOf = (request: CertificateRequest): string | undefined => tokenIdIn(request.spec.username ?? '')

/** The machine that the request claims to be, if any. */
function claimedMachine({ kind, ...read }: ContentRead & { readonly content?: RequestContent }): string | undefined {
  const names = kind === 'Content' ? (read.content?.commonNames ?? []) : []
  const [name] = names.filter((n) => n.startsWith(USER_PREFIX))
  return name?.slice(USER_PREFIX.length)
}

/** The machine to read. Skips claims that are not a valid object name: the client refuses them every time. */
export function machineToRead(content: ContentRead): string | undefined {
  const claim = claimedMachine(content)
  return claim === undefined || subdomainProblems(claim).length > 0 ? undefined : claim
}

export function decide(seen: CsrSeen, nowMs: number, lifeSeconds = DEFAULT_LIFE_SECONDS): CsrDecision {
  const { request, content } = seen
  const { signerName, groups = [], username = '' } = request.spec
  const isForToken = signerName === TOKEN_SIGNER
  if (signerName !== AGENT_SIGNER && !isForToken) return ignore('another signer')
  if (request.status?.conditions?.some((c) => c.type === 'Approved' || c.type === 'Denied') === true)
    return ignore('already decided')
  const isOurBootstrapper = groups.includes(BOOTSTRAP_GROUP)
  const isOurAgent = username.startsWith(USER_PREFIX) && groups.includes(AGENTS_GROUP)
  const claim = claimedMachine(content)
  const isOurDoor = username === DOOR_USER
  const isOurJoiner = joinerUidIn(request.spec) !== undefined
  if (!isOurBootstrapper && !isOurJoiner && !isOurAgent && !isOurDoor && claim === undefined)
    return ignore('not a request of an agent')
  if (content.kind === 'Unreadable') return deny(`cannot accept the request: ${content.why}`)
  const problem =
    contentProblem(seen, content.content, claim) ??
    requesterProblem(seen, content.content, claim, nowMs) ??
    competingProblem(seen)
  if (problem !== undefined) return deny(problem)
  const life = isForToken ? undefined : lifeProblem(request.spec, lifeSeconds)
  if (life !== undefined) return { kind: 'Deny', message: life, tooLong: true }
  const proved = isOurDoor ? keyProvedIn(request, content.content) : undefined
  const wait = proved === undefined ? uidWait(seen, content.content, nowMs) : doorWait(seen, content.content, nowMs)
  if (wait !== undefined) return { kind: 'Wait', message: wait }
  const by = proved === undefined ? (isOurAgent ? keyIn(groups) : undefined) : shortKey(proved)
  return {
    kind: 'Approve',
    machine: claim ?? '',
    key: content.content.key,
    ...defined({ by }),
    ...(isForToken && { tokenKey: tokenKeyIn(content.content) ?? '' }),
    message: `requested by the agent of machine ${claim} with ${proved === undefined ? (isOurAgent ? 'its certificate' : 'its join token') : 'its earlier key; readmitted by a person'}`,
  }
}

const ignore = (why: string): CsrDecision => ({ kind: 'Ignore', why })
const deny = (message: string): CsrDecision => ({ kind: 'Deny', message })

/** The identity must be exactly that of an agent: nothing missing, nothing extra. */
function contentProblem(
  { request, machine }: CsrSeen,
  content: RequestContent,
  claim: string | undefined,
): string | undefined {
  const { commonNames, organizations } = content
  if (claim === undefined || machineToRead({ kind: 'Content', content }) === undefined || commonNames.length !== 1)
    return `the common name must be ${USER_PREFIX}<machine>`
  const plain = extrasProblem(content) ?? usageProblem(request.spec)
  if (plain !== undefined) return plain
  if (machine === undefined) return `machine ${claim.slice(0, 80)} not found`
  const isGoing = machine.metadata.deletionTimestamp !== undefined
  if (isGoing && !isDecided(machine, content) && !isRenewal(request, machine))
    return `machine ${claim} is being deleted`
  const uid = machine.metadata.uid ?? ''
  const keyGroup = agentKeyGroup(content.key)
  // Agents of earlier versions do not name their key. They are accepted until a certificate of the machine is revoked.
  const namesKey = isRevoked(machine) || organizations.includes(keyGroup)
  const identity = [AGENTS_GROUP, agentNodeGroup(nodeNameOf(machine)), machineUidGroup(uid)]
  const isForToken = request.spec.signerName === TOKEN_SIGNER
  const tokenKey = tokenKeyIn(content)
  if (isForToken && tokenKey === undefined) return 'the request names no key for tokens'
  const ofToken = isForToken ? [tokenKeyGroup(tokenKey ?? '')] : []
  const wanted = [...identity, ...(namesKey || isForToken ? [keyGroup] : []), ...ofToken].sort()
  const asked = [...organizations].sort()
  if (asked.length !== wanted.length || asked.some((o, i) => o !== wanted[i]))
    return `the organizations must be ${wanted.join(' and ')}`
  return undefined
}

/**
 * The key is on record and only the answer is missing. The agent gets its answer even if the Machine is being deleted: an agent that may have its
 * certificate must leave its host, and needs that certificate to do so.
 */
const isDecided = (machine: Machine, { key }: RequestContent): boolean => recordedKey(machine) === key

/** A hand-back can wait for a freeze or a budget longer than a certificate lives, and it needs the agent. */
const isRenewal = ({ spec: { username = '', groups = [] } }: CertificateRequest, { metadata }: Machine): boolean =>
  username === agentUser(metadata.name ?? '') && groups.includes(machineUidGroup(metadata.uid ?? ''))

/** The requester needs the machine's own valid token, or the machine's own certificate to renew. */
function requesterProblem(
  { request, machine, token }: CsrSeen,
  content: RequestContent,
  claim: string | undefined,
  nowMs: number,
): string | undefined {
  const { username = '', groups = [] } = request.spec
  const { key } = content
  if (machine !== undefined && isKeyRevoked(machine, key))
    return `this key of machine ${claim} was revoked; a new one needs a join token: kubenode machine readmit ${claim} --token`
  const isForToken = request.spec.signerName === TOKEN_SIGNER
  if (isForToken !== (joinerUidIn(request.spec) !== undefined))
    return `${username.slice(0, 80)} may not ask ${request.spec.signerName} for the identity of machine ${claim}`
  if (username === agentUser(claim ?? '') && groups.includes(AGENTS_GROUP)) {
    if (machine !== undefined && !acceptsKey(machine, groups))
      return `the key of machine ${claim} was revoked; run: kubenode machine readmit ${claim} --token`
    const node = machine === undefined ? '' : nodeNameOf(machine)
    return groups.includes(agentNodeGroup(node)) ? undefined : `its certificate is not for node ${node}`
  }
  if (username === DOOR_USER) return doorProblem({ request, machine }, content, claim)
  if (!isForToken && (!groups.includes(BOOTSTRAP_GROUP) || tokenIdOf(request) === undefined))
    return `${username.slice(0, 80)} may not ask for the identity of machine ${claim}`
  if (token === undefined || machine === undefined) return 'the join token was deleted'
  if (machine.spec.channel === 'Observe' && !isDecided(machine, content))
    return `machine ${claim} is only observed; set its channel to Agent`
  if (isForToken ? !isJoinAccountOf(token, machine) : !isTokenOf(token, machine))
    return `the join token belongs to another machine than ${claim}`
  if (!isUnused(token, machine, key)) return 'the join token was used already: it is good for one key'
  // The server knows when an account's token expires, and it accepted this one.
  return !isForToken && tokenExpiresAt(token) <= nowMs ? 'the join token has expired' : undefined
}

/** Do not trust the door's word: check the proof again against the keys on record now. */
function doorProblem(
  { request, machine }: Pick<CsrSeen, 'request' | 'machine'>,
  content: RequestContent,
  claim: string | undefined,
): string | undefined {
  const proved = keyProvedIn(request, content)
  if (proved === undefined) return `the door shows no proof of the old key of machine ${claim}`
  // The record was written, then a crash lost the answer: the old key is still on record as the one that asked.
  return machine !== undefined && acceptsProvedKey(machine, proved)
    ? undefined
    : `the proved key is not on record for machine ${claim}; run: kubenode machine readmit ${claim} --token`
}

/**
 * An agent with an expired certificate returns only with a person's approval, however good its proof. The key may have been unattended for any length
 * of time.
 */
function doorWait({ machine }: CsrSeen, { key }: RequestContent, nowMs: number): string | undefined {
  if (machine === undefined || readmissionOf(machine, nowMs) !== undefined || recordedKey(machine) === key)
    return undefined
  const name = machine.metadata.name ?? ''
  return `the certificate of ${name} has expired and its agent proved its earlier key; to let it come back, run: kubenode machine readmit ${name}`
}

/**
 * A certificate renews itself only for the Machine it was issued to. If another Machine now has the name, a person must confirm that it is the same
 * host.
 */
function uidWait({ request, machine }: CsrSeen, { key }: RequestContent, nowMs: number): string | undefined {
  const { groups = [] } = request.spec
  if (machine === undefined || !groups.includes(AGENTS_GROUP)) return undefined
  if (groups.includes(machineUidGroup(machine.metadata.uid ?? '')) || readmissionOf(machine, nowMs) !== undefined)
    return undefined
  // The machine was readmitted and recorded, then a crash lost the answer.
  if (recordedKey(machine) === key) return undefined
  const name = machine.metadata.name ?? ''
  return `the certificate is of an earlier machine ${name}; if it is the same host, run: kubenode machine readmit ${name}`
}

/** One Machine owns the Node's identity. A renewal gives the current holder nothing new, whatever another Machine claims in the meantime. */
function competingProblem({ request, machine, competing }: CsrSeen): string | undefined {
  if (machine === undefined || competing.length === 0) return undefined
  const node = nodeNameOf(machine)
  if (request.spec.groups?.includes(agentNodeGroup(node)) === true) return undefined
  return `node ${node} belongs to machine ${competing[0]}`
}
