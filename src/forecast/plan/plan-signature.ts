// What `kubenode plan` reports about a commit's signature. Only the hub knows which keys may sign.
import { assertNever } from '#lib/errors.ts'
import type { LocalRepository } from '#sync/git/local-repository.ts'
import { signatureIn } from '#sync/trust/commit-facts.ts'
import type { Signature } from '#sync/trust/judge.ts'
import { parseSignedCommit } from '#sync/trust/signed-object.ts'
import { Malformed } from '#sync/trust/ssh-wire.ts'

export async function signatureOf(repository: Pick<LocalRepository, 'commitBytes'>, id: string): Promise<Signature> {
  try {
    return await signatureIn(parseSignedCommit(repository.commitBytes(id)), [])
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return { kind: 'Bad', why: error.message }
  }
}

/** Undefined if there is nothing to report: if commits are unsigned, no signature is expected. `commit` is its display name. */
export function signatureNote(commit: string, own: Signature, parent: Signature | undefined): string | undefined {
  const shown = `commit ${commit}`
  switch (own.kind) {
    case 'By':
      return `note: ${shown} is signed with ${own.key}`
    case 'Unknown':
      return `note: ${shown} has a signature of OpenPGP that names the key ${own.key}; only a FleetSource that has the key can verify it`
    case 'Bad':
      return `warning: the signature of ${shown} ${own.why}; a FleetSource that verifies commits refuses it`
    case 'None':
      return parent?.kind === 'By' || parent?.kind === 'Unknown'
        ? `warning: ${shown} is not signed, and the one before is; a FleetSource that verifies commits refuses it: git commit --amend -S`
        : undefined
    default:
      return assertNever(own)
  }
}
