// An object that is to be deleted may be declared under another name, by an object that is wrong: it is kept until that one is right.
import type { Rejected } from './desired.ts'
import { isMachineSet } from './machine-loss.ts'
import { refText, type ObjectRef } from './object-ref.ts'

/** In words; undefined when nothing that is rejected can be its successor. */
export function successorOf(ref: ObjectRef, rejected: readonly Rejected[]): string | undefined {
  const found = (is: (of: ObjectRef) => boolean) => (is(ref) ? rejected.find((r) => is(r.ref)) : undefined)
  const set = found(isMachineSet)
  if (set !== undefined) return `${refText(set.ref)}, which may take over its machines`
  // An encrypted file whose name was changed without the key cannot be opened: it still is the Secret under its old name.
  const secret = found(isSecret)
  return secret && `${refText(secret.ref)}, which may be the same under another name`
}

const isSecret = ({ group, kind }: ObjectRef): boolean => group === '' && kind === 'Secret'
