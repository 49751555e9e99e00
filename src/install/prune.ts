// Deletes an object that the release no longer has. No later pass tries again, so another write or a lost reply in between only costs an attempt.
import { deleteObject } from '#delivery/delete.ts'
import { refText } from '#delivery/object-ref.ts'
import type { Delete } from '#delivery/operation.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { InstallContext } from './context.ts'

/** As many as a write has. */
const ATTEMPTS = 5
const PAUSE_MS = 1_000

/** True when nothing of it is left to remember. */
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
