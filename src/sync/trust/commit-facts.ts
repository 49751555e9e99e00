// Facts from a commit's bytes, read once: its links, its tree, and which key signed it. They never change, because the id is the hash of the bytes.
import type { TreeEntry } from '../git/tree-entries.ts'
import { parseLinks, parseSignedCommit, type CommitLinks } from './signed-object.ts'
import type { PgpSigningKey } from './openpgp/certificate.ts'
import { PGP_BEGIN, verifyPgpSignature } from './openpgp/verify.ts'
import { SSH_BEGIN, verifySshSignature } from './ssh-signature.ts'
import { LINKS_EACH } from './history.ts'
import { Malformed } from './ssh-wire.ts'
import type { Signature } from './judge.ts'

/** Objects as stored, each checked against its id; graft files, replacements and shallow marks have no effect. */
export interface ObjectReader {
  commitBytes(id: string): Buffer
  tagBytes(name: string): Promise<Buffer | undefined>
  treeEntries(id: string, where: string): readonly TreeEntry[]
  fileBytes(id: string, where: string): Uint8Array
}

export interface CommitFacts extends CommitLinks {
  /** Undefined until it is needed. */
  signature?: Signature
}

/** Two of the longest ranges; about 20 MB. */
const MAX_FACTS = 100_000
/** Total limit: a hostile commit names 20,000 parents. */
const MAX_PARENTS = LINKS_EACH * MAX_FACTS

export class FactsOfCommits {
  readonly #known = new Map<string, CommitFacts>()
  #parents = 0

  of(id: string, reader: ObjectReader): CommitFacts {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const facts = parseLinks(reader.commitBytes(id))
    this.#known.set(id, facts)
    this.#parents += facts.parents.length
    for (const [old, { parents }] of this.#known) {
      if (this.#known.size <= MAX_FACTS && this.#parents <= MAX_PARENTS) break
      this.#known.delete(old)
      this.#parents -= parents.length
    }
    return facts
  }

  /**
   * Throws Malformed when two programs could read the commit differently. OpenPGP signatures are verified with these keys, so their results are not
   * cached. The bytes are read a second time instead of being kept: a long range takes hundreds of megabytes.
   */
  async signatureOf(id: string, reader: ObjectReader, keys: readonly PgpSigningKey[]): Promise<Signature> {
    const facts = this.of(id, reader)
    if (facts.signature !== undefined) return facts.signature
    const signed = parseSignedCommit(reader.commitBytes(id))
    const found = await signatureIn(signed, keys)
    if (found.kind === 'By' || !isPgp(signed.signature)) facts.signature = found
    return found
  }

  hasSignature(id: string): boolean {
    return this.#known.get(id)?.signature !== undefined
  }
}

const isPgp = (signature = ''): boolean => signature.startsWith(PGP_BEGIN)

export async function signatureIn(
  { payload, signature }: { readonly payload: Buffer; readonly signature?: string },
  keys: readonly PgpSigningKey[],
): Promise<Signature> {
  if (signature === undefined) return { kind: 'None' }
  try {
    if (isPgp(signature)) return await verifyPgpSignature(signature, payload, keys)
    if (!signature.startsWith(SSH_BEGIN)) return { kind: 'Bad', why: 'is neither one of SSH nor of OpenPGP' }
    return { kind: 'By', key: verifySshSignature(signature, payload).fingerprint }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return { kind: 'Bad', why: error.message }
  }
}
