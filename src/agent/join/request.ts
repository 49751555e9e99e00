// Requests a client certificate from the cluster and waits for it. The request is named after the key, so asking again after a crash gives the same request.
import { createHash, X509Certificate, createPrivateKey } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { holderOf } from '#lib/x509/holder.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { fingerprintOfKey } from '#lib/key-fingerprint.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import {
  AGENT_SIGNER,
  AGENTS_GROUP,
  ANNOTATIONS,
  FIELD_MANAGERS,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
  tokenKeyGroup,
} from '#api/names.ts'
import { DEFAULT_LIFE_SECONDS } from '#identity/certificate-life.ts'
import { clientRequest } from '#identity/certificate-request.ts'
import { openToken, SEALED_TOKEN_FIELD, sealedTokenKey, tokenPublicKey } from '#identity/sealed-token.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { agentErrors } from '../agent-errors.ts'
import type { TokenPair } from './identity.ts'

export const csrType = coreKind('CertificateSigningRequest')

export const newKey = newPrivateKey

/** The requester; no uid only with a server that has no approver. */
export interface Wanted {
  readonly machine: string
  readonly node: string
  readonly uid?: string
  /** Lifetime of the certificate; default: one week. */
  readonly certificateSeconds?: number
  readonly form?: AgentIdentity
}

export const requestPem = (key: string, { machine, node, uid, form }: Wanted): Promise<string> => {
  const ofMachine = uid === undefined ? [] : [machineUidGroup(uid), agentKeyGroup(fingerprintOfKey(key))]
  const ofToken = form === 'serviceAccount' ? [tokenKeyGroup(tokenPublicKey(key))] : []
  const organizations = [AGENTS_GROUP, agentNodeGroup(node), ...ofMachine, ...ofToken]
  return signingRequest(key, { commonName: agentUser(machine), organizations })
}

const publicDer = (key: string): Buffer => Buffer.from(createPrivateKey(key).export({ type: 'pkcs8', format: 'der' }))

const LONGEST_PLAIN = 40

/** Not just the machine's name: it may be long, and each key needs its own request, as does the same key for another Machine. */
export const requestName = (machine: string, key: string, uid = ''): string => {
  const digest = createHash('sha256').update(publicDer(key)).update(uid).digest('hex').slice(0, 16)
  return `kubenode-agent-${withoutEnd(machine.slice(0, LONGEST_PLAIN), /[^a-z0-9]/)}-${digest}`
}

export interface RequestDeps {
  readonly client: Pick<KubeClient, 'create' | 'get'>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called once, with the name of the request, when approval takes longer than usual. */
  readonly onWait?: (request: string) => void
}

const SILENT_MS = 2_000

const FIRST_POLL_MS = 100
const MOST_POLL_MS = 2_000
/** After minutes without approval, poll less often: a waiting fleet that polls every two seconds would keep the server busy. */
const PATIENT_AFTER_MS = 2 * 60_000
const PATIENT_POLL_MS = 30_000

/** Returns the certificate in PEM. Throws a final error when the request is denied. */
export async function requestCertificate(
  { client, clock, signal, onWait }: RequestDeps,
  wanted: Wanted,
  key: string,
): Promise<string> {
  const { machine } = wanted
  return untilAnswered({ client, clock, signal, ...defined({ onWait }) }, wanted, key, async (found, name) => {
    const certificate = answerOf(found, name)
    return certificate === undefined ? undefined : checked(certificate, key, machine)
  })
}

/** Returns the first token of an agent that becomes a service account. Throws a final error when the request is denied. */
export const requestToken = (
  deps: RequestDeps,
  wanted: Wanted & { readonly uid: string },
  key: string,
): Promise<TokenPair> =>
  untilAnswered(deps, { ...wanted, form: 'serviceAccount' }, key, async (found, name) => {
    // Only denials matter here: this signer signs nothing.
    answerOf(found, name)
    return fetchToken(deps.client, { key, uid: wanted.uid }, deps.signal)
  })

/** Reads the token from the server, sealed to the key. Undefined while there is none for this key. */
export async function fetchToken(
  client: Pick<KubeClient, 'get'>,
  { key, uid }: Pick<TokenPair, 'key' | 'uid'>,
  signal: AbortSignal,
): Promise<TokenPair | undefined> {
  const found = await client.get(configMapType, sealedTokenKey(uid), { signal })
  return openedToken({ key, uid }, found?.data?.[SEALED_TOKEN_FIELD])
}

export function openedToken({ key, uid }: Pick<TokenPair, 'key' | 'uid'>, sealed: unknown): TokenPair | undefined {
  const opened = typeof sealed === 'string' ? openToken(key, uid, sealed) : undefined
  return opened && { key, uid, token: opened.token, askAgainMs: opened.askAgainSeconds * 1_000 }
}

const configMapType = coreKind('ConfigMap')

async function untilAnswered<T>(
  { client, clock, signal, onWait }: RequestDeps,
  wanted: Wanted,
  key: string,
  answerIn: (found: KubeObject, name: string) => Promise<T | undefined>,
): Promise<T> {
  const { machine } = wanted
  const name = requestName(machine, key, wanted.uid)
  const asked: Asked = {
    name,
    machine,
    pem: await requestPem(key, wanted),
    seconds: wanted.certificateSeconds,
    signer: wanted.form === 'serviceAccount' ? TOKEN_SIGNER : AGENT_SIGNER,
  }
  await createRequest(client, asked, signal)
  const began = clock.monotonic()
  const silentUntil = began + SILENT_MS
  let hasReported = false
  const mostMs = () => (clock.monotonic() - began < PATIENT_AFTER_MS ? MOST_POLL_MS : PATIENT_POLL_MS)
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(mostMs(), waitMs * 1.5)) {
    await clock.sleep(waitMs, signal)
    const found = await client.get(csrType, { name }, { signal })
    // The cluster deletes old requests; send the same one again.
    if (found === undefined) await createRequest(client, asked, signal)
    const answer = found === undefined ? undefined : await answerIn(found, name)
    if (answer !== undefined) return answer
    if (hasReported || clock.monotonic() < silentUntil) continue
    hasReported = true
    onWait?.(name)
  }
}

interface Asked {
  readonly name: string
  readonly machine: string
  readonly pem: string
  readonly seconds: number | undefined
  readonly signer: string
}

async function createRequest(
  client: Pick<KubeClient, 'create'>,
  { name, machine, pem, signer, seconds = DEFAULT_LIFE_SECONDS }: Asked,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { name, annotations: { [ANNOTATIONS.machine]: machine } }
  const request = clientRequest({ metadata, pem, signerName: signer, seconds })
  try {
    await client.create(csrType, request, { fieldManager: FIELD_MANAGERS.agent, signal })
  } catch (e) {
    // Sent before a crash: the same key, so it is the agent's own request.
    if (!isAlreadyExists(e)) throw e
  }
}

function answerOf(request: KubeObject, name: string): string | undefined {
  const status = isObject(request['status']) ? request['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
  const no = conditions.find((c) => c['type'] === 'Denied' || c['type'] === 'Failed')
  if (no !== undefined)
    throw new KubeNodeError(agentErrors.KN8006({ name, no: String(no['message'] ?? no['reason'] ?? '') }))
  const certificate = status['certificate']
  return typeof certificate === 'string' && certificate !== ''
    ? Buffer.from(certificate, 'base64').toString('utf8')
    : undefined
}

export function checked(pem: string, key: string, machine: string): string {
  const certificate = new X509Certificate(pem)
  const isOurs = certificate.checkPrivateKey(createPrivateKey(key))
  if (!isOurs || holderOf(certificate)?.commonName !== agentUser(machine))
    throw new KubeNodeError(agentErrors.KN8007({ machine }))
  return pem
}
