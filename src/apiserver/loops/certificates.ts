// Signs approved requests for the Kubernetes signers that we serve: clients of the API server and kubelets. Also approves
// bootstrap requests of kubelets that may make them.
import { timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { signRequest } from '#lib/x509/certificates.ts'
import type { RequestUser } from '../auth/user.ts'
import { readSigningRequest, type SigningRequest } from '#lib/x509/read-request.ts'
import { hasCondition } from '../builtin/certificate-request.ts'
import type { ServerParts } from '../handlers/context.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'

const REQUESTS = 'certificates.k8s.io/certificatesigningrequests'
const CLIENT = 'kubernetes.io/kube-apiserver-client'
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet'
const KUBELET_SERVING = 'kubernetes.io/kubelet-serving'
const DEFAULT_DAYS = 365
const DAY_SECONDS = 86_400

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const texts = (v: unknown): readonly string[] => (Array.isArray(v) ? v.map(String) : [])

export class CertificateSigner {
  readonly #parts: ServerParts
  /** Pending requests of kubelets: many may wait for a day, and each change of a request causes a pass over all. Undefined: unreadable. */
  readonly #read = new WeakMap<Stored, SigningRequest | undefined>()

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    for (const s of this.#parts.store.collection(REQUESTS).snapshot()) {
      const csr = s.value
      if (
        fields(csr['status'])['certificate'] !== undefined ||
        hasCondition(csr, 'Denied') ||
        hasCondition(csr, 'Failed')
      )
        continue
      if (hasCondition(csr, 'Approved')) await sign(this.#parts, csr)
      else if (fields(csr['spec'])['signerName'] === KUBELET_CLIENT)
        await approveKubelet(this.#parts, csr, this.#requestOf(s))
    }
  }

  #requestOf(stored: Stored): SigningRequest | undefined {
    if (!this.#read.has(stored)) this.#read.set(stored, readable(pemOf(stored.value)))
    return this.#read.get(stored)
  }
}

function readable(pem: string): SigningRequest | undefined {
  try {
    return readSigningRequest(pem)
  } catch (e) {
    // Left for a user to decide.
    if (e instanceof Error) return undefined
    throw e
  }
}

const pemOf = (csr: KubeObject): string =>
  Buffer.from(String(fields(csr['spec'])['request'] ?? ''), 'base64').toString('utf8')
const askerOf = (spec: Fields): RequestUser => ({
  name: String(spec['username'] ?? ''),
  groups: texts(spec['groups']),
})
const at = (csr: KubeObject) => ({ resource: REQUESTS, namespace: '', name: csr.metadata.name ?? '' })

async function sign(parts: ServerParts, csr: KubeObject): Promise<void> {
  const { store, clock, credentials, judgeSubject } = parts
  const spec = fields(csr['spec'])
  const signer = String(spec['signerName'])
  if (signer !== CLIENT && signer !== KUBELET_CLIENT && signer !== KUBELET_SERVING) return
  const usages = texts(spec['usages'])
  const seconds = typeof spec['expirationSeconds'] === 'number' ? spec['expirationSeconds'] : DEFAULT_DAYS * DAY_SECONDS
  let outcome: { readonly certificate: string } | { readonly problem: string }
  try {
    const request = readSigningRequest(pemOf(csr))
    const asker = askerOf(spec)
    const problem =
      requestProblem(signer, request, usages) ?? (signer === CLIENT ? judgeSubject(asker, request) : undefined)
    outcome =
      problem === undefined
        ? {
            certificate: signRequest(credentials.authority, pemOf(csr), {
              usages,
              validity: { now: clock.now(), days: Math.min(seconds / DAY_SECONDS, DEFAULT_DAYS) },
            }),
          }
        : { problem }
  } catch (e) {
    outcome = { problem: `the request cannot be read: ${messageOf(e)}` }
  }
  await storeObject(store, at(csr), (o) => {
    const status = fields(o['status'])
    if ('certificate' in outcome)
      return { ...o, status: { ...status, certificate: Buffer.from(outcome.certificate).toString('base64') } }
    return withCondition(o, {
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: outcome.problem,
      now: clock.now(),
    })
  })
}

/** Undefined when the signer may sign it. */
function requestProblem(signer: string, request: SigningRequest, usages: readonly string[]): string | undefined {
  if (request.problem !== undefined) return request.problem
  if (signer === CLIENT) {
    if (request.organizations.includes('system:masters')) return 'subject must not contain the group system:masters'
    return usages.includes('client auth') && !usages.includes('server auth')
      ? undefined
      : 'usages must include client auth and not server auth'
  }
  if (!request.commonName.startsWith('system:node:')) return 'subject common name does not begin with system:node: '
  if (request.organizations.join() !== 'system:nodes') return 'subject organization is not system:nodes'
  if (request.otherNames) return 'only DNS names and IP addresses are allowed'
  const names = request.dnsNames.length + request.ipAddresses.length
  if (signer === KUBELET_SERVING) {
    if (names === 0) return 'DNS or IP subjectAltName is required'
    return usages.includes('server auth') && !usages.includes('client auth')
      ? undefined
      : 'usages must include server auth and not client auth'
  }
  if (names > 0) return 'subject alternative names are not allowed'
  return usages.includes('client auth') && !usages.includes('server auth')
    ? undefined
    : 'usages must include client auth and not server auth'
}

/** A kubelet's own client certificate, for permitted requesters: bootstrappers, and nodes for themselves. */
async function approveKubelet(parts: ServerParts, csr: KubeObject, request: SigningRequest | undefined): Promise<void> {
  const { store, clock, authorizer } = parts
  const spec = fields(csr['spec'])
  if (request === undefined || requestProblem(KUBELET_CLIENT, request, texts(spec['usages'])) !== undefined) return
  const user = askerOf(spec)
  const kind = user.name === request.commonName ? 'selfnodeclient' : 'nodeclient'
  const attributes = {
    verb: 'create',
    group: 'certificates.k8s.io',
    resource: 'certificatesigningrequests',
    subresource: kind,
    namespace: '',
    name: '',
  }
  if (!authorizer.allows(user, attributes)) return
  await storeObject(store, at(csr), (o) =>
    withCondition(o, {
      type: 'Approved',
      reason: 'AutoApproved',
      message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
      now: clock.now(),
    }),
  )
}

interface NewCondition {
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly now: number
}

function withCondition(o: KubeObject, { type, reason, message, now }: NewCondition): KubeObject {
  const status = fields(o['status'])
  const before = Array.isArray(status['conditions']) ? status['conditions'] : []
  const time = timestamp(now)
  const condition = { type, status: 'True', reason, message, lastUpdateTime: time, lastTransitionTime: time }
  return { ...o, status: { ...status, conditions: [...before, condition] } }
}
