// The common form of all certificate requests by agents, for any Machine. Pure. The approver, the Defender that reviews its approvals, and the embedded
// server that signs each check it independently: stealing one program's key does not get past the others.
import {
  AGENTS_GROUP,
  AGENT_ACCOUNTS_GROUP,
  AGENT_SIGNER,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  DOOR_USER,
  JOIN_ACCOUNTS_GROUP,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  joinAccountUser,
  machineUidGroup,
  tokenKeyGroup,
} from '#api/names.ts'
import { subdomainProblems } from '#api/schema/name-problems.ts'
import { LONGEST_LIFE_SECONDS } from './certificate-life.ts'
import type { CertificateRequest } from './certificate-request.ts'
import { proofIn, provedKey } from './door/proof.ts'
import type { RequestContent } from './request-content.ts'

export const AGENT_USAGES: readonly string[] = ['client auth', 'digital signature', 'key encipherment']

const USER_PREFIX = agentUser('')
const TOKEN_USER = /^system:bootstrap:([a-z0-9]{6})$/
const JOIN_ACCOUNT_PREFIX = joinAccountUser('')
const TOKEN_KEY_PREFIX = tokenKeyGroup('')
/** 32 bytes in base64url. */
const TOKEN_KEY = /^[\w-]{43}$/

type Spec = CertificateRequest['spec']

/** Id of the presented token. */
export const tokenIdIn = (username: string): string | undefined => TOKEN_USER.exec(username)?.[1]

/** UID of the Machine whose join account sends the request. */
export const joinerUidIn = ({ username = '', groups = [] }: Pick<Spec, 'username' | 'groups'>): string | undefined =>
  username.startsWith(JOIN_ACCOUNT_PREFIX) && groups.includes(JOIN_ACCOUNTS_GROUP)
    ? username.slice(JOIN_ACCOUNT_PREFIX.length)
    : undefined

/** The key to which tokens are sealed; undefined unless exactly one is named. */
export function tokenKeyIn({ organizations }: Pick<RequestContent, 'organizations'>): string | undefined {
  const [key, ...others] = organizations
    .filter((o) => o.startsWith(TOKEN_KEY_PREFIX))
    .map((o) => o.slice(TOKEN_KEY_PREFIX.length))
  return key !== undefined && others.length === 0 && TOKEN_KEY.test(key) ? key : undefined
}

/** The machine of a user name; undefined for a name that no Machine could have. */
export function machineIn(user: string): string | undefined {
  if (!user.startsWith(USER_PREFIX)) return undefined
  const name = user.slice(USER_PREFIX.length)
  return subdomainProblems(name).length > 0 ? undefined : name
}

interface Subject {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  /** Fingerprint of the public key; without it, any key may be named. */
  readonly key?: string
}

const isGroupOf = (prefix: string) => (organization: string) =>
  organization.startsWith(prefix) && organization.length > prefix.length

/** Exactly an agent, its Node and its Machine's uid: no part missing, nothing added. */
function subjectProblem({ commonNames, organizations, key }: Subject): string | undefined {
  const [name = '', ...others] = commonNames
  if (machineIn(name) === undefined || others.length > 0) return `the common name must be ${USER_PREFIX}<machine>`
  const wanted = [(o: string) => o === AGENTS_GROUP, isGroupOf(agentNodeGroup('')), isGroupOf(machineUidGroup(''))]
  const isOfKey = key === undefined ? isGroupOf(agentKeyGroup('')) : (o: string) => o === agentKeyGroup(key)
  const [ofKey, ...more] = organizations.filter((o) => !wanted.some((is) => is(o)))
  // Earlier agent versions do not name their key.
  const isExact =
    wanted.every((is) => organizations.filter((o) => is(o)).length === 1) &&
    more.length === 0 &&
    (ofKey === undefined || isOfKey(ofKey))
  return isExact
    ? undefined
    : `the organizations must be ${AGENTS_GROUP}, ${agentNodeGroup('<node>')}, ${machineUidGroup('<uid>')} and ${agentKeyGroup('<key>')}`
}

/** For the embedded server's signer: joining hosts and agents get an agent's name and no other. */
export function joinersAreAgents(
  { name, groups }: { readonly name?: string; readonly groups: readonly string[] },
  { commonName, organizations }: { readonly commonName: string; readonly organizations: readonly string[] },
): string | undefined {
  const asksForAgents =
    name === DOOR_USER ||
    ['system:bootstrappers', AGENTS_GROUP, AGENT_ACCOUNTS_GROUP, JOIN_ACCOUNTS_GROUP].some((g) => groups.includes(g))
  if (!asksForAgents) return undefined
  return subjectProblem({ commonNames: [commonName], organizations })
}

export function usageProblem({ usages = [] }: Spec): string | undefined {
  const strange = usages.find((u) => !AGENT_USAGES.includes(u))
  if (strange !== undefined) return `the usage ${strange} is not allowed for agents`
  return usages.includes('client auth') ? undefined : 'the usage client auth is missing'
}

export const lifeProblem = (
  { expirationSeconds: life }: Spec,
  longestSeconds = LONGEST_LIFE_SECONDS,
): string | undefined =>
  life === undefined || life > longestSeconds
    ? `the certificate may be valid for at most ${longestSeconds} seconds: expirationSeconds of the request is ${life ?? 'not set'}`
    : undefined

export const extrasProblem = ({ extras }: RequestContent): string | undefined =>
  extras.length > 0 ? `the request has unsupported fields: ${extras.join(', ').slice(0, 80)}` : undefined

/** The key proved at the door for the request's machine and uid; undefined when there was no proof. */
export function keyProvedIn(
  { metadata, spec }: Pick<CertificateRequest, 'metadata' | 'spec'>,
  { commonNames, organizations }: RequestContent,
): string | undefined {
  const proof = proofIn(metadata.annotations?.[ANNOTATIONS.doorProof])
  if (proof === undefined || commonNames[0] !== agentUser(proof.machine)) return undefined
  if (!organizations.includes(machineUidGroup(proof.uid))) return undefined
  return provedKey(proof, Buffer.from(spec.request, 'base64').toString('utf8'))
}

/** A join token, the certificate being renewed, or a proof at the door. */
function requesterProblem(request: Pick<CertificateRequest, 'metadata' | 'spec'>, content: RequestContent) {
  const { username = '', groups = [] } = request.spec
  const { commonNames } = content
  if (username === DOOR_USER)
    return keyProvedIn(request, content) === undefined ? 'the door shows no proof of the old key' : undefined
  if (tokenIdIn(username) !== undefined && groups.includes(BOOTSTRAP_GROUP)) return undefined
  const uid = joinerUidIn(request.spec)
  if (uid !== undefined && content.organizations.includes(machineUidGroup(uid))) return undefined
  if (username === commonNames[0] && groups.includes(AGENTS_GROUP)) return undefined
  return `${username.slice(0, 80)} may not ask for the identity of an agent`
}

/** Why no agent can have sent this request; undefined when one may have. */
export function agentRequestProblem(
  request: Pick<CertificateRequest, 'metadata' | 'spec'>,
  content: RequestContent,
): string | undefined {
  const { spec } = request
  const signer = joinerUidIn(spec) === undefined ? AGENT_SIGNER : TOKEN_SIGNER
  if (spec.signerName !== signer) return `agents ask ${signer}, and no other signer`
  const tokenKey = signer === TOKEN_SIGNER ? tokenKeyIn(content) : undefined
  if (signer === TOKEN_SIGNER && tokenKey === undefined) return 'the request names no key for tokens'
  const organizations = content.organizations.filter((o) => tokenKey === undefined || o !== tokenKeyGroup(tokenKey))
  return (
    subjectProblem({ ...content, organizations }) ??
    extrasProblem(content) ??
    usageProblem(spec) ??
    lifeProblem(spec) ??
    requesterProblem(request, content)
  )
}
