// Answers the AdmissionReview of a deletion: allowed, or 429 with the reason, the way out, and when to try again.
import { isObject } from '#lib/json.ts'
import type { AdmissionAnswer, AdmissionRequest } from '../webhook/review.ts'
import type { AskGuard } from './guard.ts'

export async function reviewDeletion(request: AdmissionRequest, ask: AskGuard): Promise<AdmissionAnswer> {
  const { uid, kind, operation, oldObject, name, dryRun, subResource } = request
  if (operation !== 'DELETE' || (subResource ?? '') !== '') return answer(uid, { allowed: true })
  const metadata = isObject(oldObject) && isObject(oldObject['metadata']) ? oldObject['metadata'] : {}
  const verdict = await ask({
    group: kind.group,
    kind: kind.kind,
    name: name ?? String(metadata['name'] ?? ''),
    isEnding: metadata['deletionTimestamp'] !== undefined,
    isDryRun: dryRun === true,
  })
  if (verdict.kind === 'Passes') return answer(uid, { allowed: true })
  const details =
    verdict.retryAfterMs === undefined
      ? {}
      : { details: { retryAfterSeconds: Math.ceil(verdict.retryAfterMs / 1_000) } }
  return answer(uid, {
    allowed: false,
    status: { code: 429, reason: 'TooManyRequests', message: `deletions are guarded: ${verdict.why}`, ...details },
  })
}

const answer = (uid: string, response: Omit<AdmissionAnswer['response'], 'uid'>): AdmissionAnswer => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid, ...response },
})
