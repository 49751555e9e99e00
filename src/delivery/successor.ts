// An object to delete may be declared under another name by an invalid object. It is kept until that one is fixed.
import type { Rejected } from './desired.ts'
import { isMachineSet } from './machine-loss.ts'
import { refText, type ObjectRef } from './object-ref.ts'

/** As text. Undefined if no rejected object can be its successor. */
export function successorOf(ref: ObjectRef, rejected: readonly Rejected[]): string | undefined {
  const found = (is: (of: ObjectRef) => boolean) => (is(ref) ? rejected.find((r) => is(r.ref)) : undefined)
  const set = found(isMachineSet)
  if (set !== undefined) return `${refText(set.ref)}, which may take over its machines`
  // An encrypted file that was renamed without the key cannot be opened. It is still the Secret with the old name.
  const secret = found(isSecret)
  return secret && `${refText(secret.ref)}, which may be the same under another name`
}

const isSecret = ({ group, kind }: ObjectRef): boolean => group === '' && kind === 'Secret'
