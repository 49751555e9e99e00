// Reviews the approver's answers to certificate requests. An approval passes if the request comes from an agent, checked to the last byte. A policy
// cannot decode a request, and a stolen approver key could approve anything.
import { ANNOTATIONS } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { textOf } from '#lib/fields.ts'
import { agentRequestProblem } from '#identity/agent-request.ts'
import type { CertificateRequest } from '#identity/certificate-request.ts'
import { readContent } from '#identity/request-content.ts'
import { type AdmissionAnswer, allowed, forbidden } from '../webhook/answer.ts'
import type { AdmissionRequest } from '../webhook/review.ts'

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((v) => typeof v === 'string') : []

/** A malformed field counts as missing, and a missing field is refused. */
function specOf(spec: Readonly<Record<string, unknown>>): CertificateRequest['spec'] {
  const life = spec['expirationSeconds']
  return {
    request: textOf(spec['request']),
    signerName: textOf(spec['signerName']),
    usages: texts(spec['usages']),
    username: textOf(spec['username']),
    groups: texts(spec['groups']),
    ...(typeof life === 'number' && { expirationSeconds: life }),
  }
}

export async function reviewApproval({ uid, object }: AdmissionRequest): Promise<AdmissionAnswer> {
  const problem = await approvalProblem(object)
  return problem === undefined ? allowed(uid) : forbidden(uid, `not approved: ${problem}`)
}

async function approvalProblem(object: unknown): Promise<string | undefined> {
  if (!isObject(object) || !isObject(object['spec'])) return 'the review shows no certificate request'
  if (isDenied(object['status'])) return undefined
  const spec = specOf(object['spec'])
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const annotations = isObject(metadata['annotations']) ? metadata['annotations'] : {}
  const proof = { [ANNOTATIONS.doorProof]: textOf(annotations[ANNOTATIONS.doorProof]) }
  const read = await readContent(spec.request)
  if (read.kind === 'Unreadable') return `cannot accept the request: ${read.why}`
  return agentRequestProblem({ metadata: { annotations: proof }, spec }, read.content)
}

/** A denial gives the requester nothing. An object with both conditions is not a denial. */
function isDenied(status: unknown): boolean {
  const conditions: readonly unknown[] =
    isObject(status) && Array.isArray(status['conditions']) ? status['conditions'] : []
  const types = conditions.map((c) => (isObject(c) ? c['type'] : undefined))
  return types.includes('Denied') && !types.includes('Approved')
}
