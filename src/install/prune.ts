// Deletes an object that the release no longer has. No later pass retries, so a concurrent write or a lost reply only costs one attempt.
import { deleteObject } from '#delivery/delete.ts'
import { refText } from '#delivery/object-ref.ts'
import type { Delete } from '#delivery/operation.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { InstallContext } from './context.ts'

/** Same as for a write. */
const ATTEMPTS = 5
const PAUSE_MS = 1_000

/** True if it no longer has to be recorded. */
export async function prune(
  { client, types, clock, print, signal }: Pick<InstallContext, 'client' | 'types' | 'clock' | 'print' | 'signal'>,
  operation: Delete,
): Promise<boolean> {
  const { ref } = operation
  const patience = { clock, attempts: ATTEMPTS, pauseMs: PAUSE_MS }
  const deleted = await deleteObject({ client, types, patience, ...defined({ signal }) }, operation)
  if (deleted.kind !== 'Applied') {
    print(`${refText(ref)} could not be removed: ${messageOf(deleted.error)}`)
    return false
  }
  if (deleted.object !== 'Gone') print(`removed ${refText(ref)}, which this version no longer has`)
  return deleted.object !== 'Deleting'
}
