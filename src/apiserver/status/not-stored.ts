// The answer to a write that did not fit on the disk: not stored, and worth retrying when there is space.
import { isKubeNodeError } from '#lib/errors.ts'
import { DISK_FULL, FILE_BUSY } from '../storage/storage-error.ts'
import { Refusal } from './refusal.ts'

/** The time an operator may need to notice; an immediate retry would only fail again. */
const RETRY_SECONDS = 5

/** Undefined for any other failure. Code 507 is Insufficient Storage; clients of Kubernetes show the message. */
export function notStored(e: unknown): Refusal | undefined {
  if (!isKubeNodeError(e) || (e.code !== DISK_FULL && e.code !== FILE_BUSY)) return undefined
  return new Refusal(
    {
      message: e.message,
      reason: e.code === DISK_FULL ? 'InsufficientStorage' : 'ServiceUnavailable',
      details: { retryAfterSeconds: RETRY_SECONDS },
      code: e.code === DISK_FULL ? 507 : 503,
    },
    { 'retry-after': String(RETRY_SECONDS) },
  )
}
