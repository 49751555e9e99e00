// Answers the AdmissionReview of a deletion: allowed, or refused with the reason and the next step.
import { isObject } from '#lib/json.ts'
import { type AdmissionAnswer, allowed, forbidden, refused } from '../webhook/answer.ts'
import type { AdmissionRequest } from '../webhook/review.ts'
import type { AskGuard } from './guard.ts'

/**
 * A client that gets a retry-after waits and retries silently: kubectl would hang until the window ends, and then continue deleting. Only a short
 * wait is worth that. Anything longer is a refusal that the user sees and no loop waits for.
 */
const MOST_RETRY_MS = 5_000

export async function reviewDeletion(request: AdmissionRequest, ask: AskGuard): Promise<AdmissionAnswer> {
  const { uid, kind, operation, oldObject, name, dryRun, subResource, userInfo } = request
  if (operation !== 'DELETE' || (subResource ?? '') !== '') return allowed(uid)
  const metadata = isObject(oldObject) && isObject(oldObject['metadata']) ? oldObject['metadata'] : {}
  const verdict = await ask({
    group: kind.group,
    kind: kind.kind,
    // The deletion of a collection is reviewed object by object, with no name or an empty one.
    name: String(metadata['name'] ?? name ?? ''),
    namespace: String(metadata['namespace'] ?? ''),
    uid: String(metadata['uid'] ?? ''),
    user: isObject(userInfo) ? String(userInfo['username'] ?? '') : '',
    isEnding: metadata['deletionTimestamp'] !== undefined,
    isDryRun: dryRun === true,
  })
  if (verdict.kind === 'Passes') return allowed(uid)
  const message = `denied by the deletion guard: ${verdict.why}`
  const { retryAfterMs = Infinity } = verdict
  if (retryAfterMs > MOST_RETRY_MS) return forbidden(uid, message)
  const details = { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) }
  return refused(uid, { code: 429, reason: 'TooManyRequests', message, details })
}
