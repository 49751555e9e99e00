// Takes away an object that the release no longer has: only what the installer made, and again when another write or a lost reply came in between.
import { messageOf } from '#lib/errors.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import { type Deleted, deleteExactly } from '#runtime/preconditions.ts'
import { type InventoryRef, refText, type ObjectRef } from '#delivery/object-ref.ts'
import type { InstallContext } from './context.ts'
import { isLabelledOurs } from './release.ts'

/** As many as a write has. */
const ATTEMPTS = 5
const PAUSE_MS = 1_000

const keyOfRef = ({ namespace, name }: ObjectRef) => ({ name, ...(namespace !== '' && { namespace }) })

/** Only what we made: with the UID that was recorded, or with our label. True when nothing of it is left to remember. */
export async function prune(
  { client, types, clock, say, signal }: Pick<InstallContext, 'client' | 'types' | 'clock' | 'say' | 'signal'>,
  ref: InventoryRef,
): Promise<boolean> {
  const type = await types.ofGroup(ref.group, ref.kind, signal)
  if (type === undefined) return true
  for (let attempt = 1; ; attempt++) {
    const found = await client.get(type, keyOfRef(ref))
    if (found === undefined) return true
    const isOurs = ref.uid === undefined ? isLabelledOurs(found) : ref.uid === found.metadata.uid
    if (!isOurs) return true
    const outcome = await deleteExactly(client, type, found, { propagationPolicy: 'Background' })
    if (outcome.kind === 'Applied') {
      say(`removed ${refText(ref)}, which this version no longer has`)
      return outcome.object !== 'Deleting'
    }
    if (!mayPass(outcome) || attempt === ATTEMPTS) {
      say(`${refText(ref)} could not be removed: ${messageOf(outcome.error)}`)
      return false
    }
    await clock.sleep(PAUSE_MS, signal)
  }
}

/** Only a refusal is an answer; after a changed object, a lost reply or a busy server the object is read again. */
const mayPass = (outcome: Exclude<WriteOutcome<Deleted>, { readonly kind: 'Applied' }>): boolean =>
  outcome.kind !== 'Denied' || outcome.error.status === 429
