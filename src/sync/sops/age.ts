// age keys, and what they open: the data key of a sops document. The package age-encryption does the work; this file limits its input.
import type { Decrypter } from 'age-encryption'
import { messageOf } from '#lib/errors.ts'

export interface AgeIdentity {
  readonly decrypter: Decrypter
  /** `age1…`, for messages. */
  readonly recipient: string
}

/** One Secret holds the current key and a few older ones. */
const MAX_IDENTITIES = 20
/** The format of age-keygen. Keys of plugins, passphrases and the post-quantum hybrid have other formats, and no sops file needs them. */
const X25519_KEY = /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/

/** The package and its cryptography are loaded only for a fleet with encrypted files. */
const age = () => import('age-encryption')

/** One key per line, with comments. For an invalid line it throws a text without the key. */
export async function parseIdentities(text: string): Promise<readonly AgeIdentity[]> {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (keys.length > MAX_IDENTITIES) throw new Error(`has ${keys.length} keys (limit ${MAX_IDENTITIES})`)
  return Promise.all(keys.map(identityOf))
}

async function identityOf(line: string): Promise<AgeIdentity> {
  const { Decrypter, identityToRecipient } = await age()
  try {
    if (!X25519_KEY.test(line)) throw new Error('another kind of key')
    const decrypter = new Decrypter()
    decrypter.addIdentity(line)
    return { decrypter, recipient: await identityToRecipient(line) }
  } catch {
    // Without a cause: the package's message repeats the key.
    throw new Error('has a line that is no X25519 key of age (AGE-SECRET-KEY-1…)')
  }
}

/** A 32-byte key for one recipient takes 500 characters; a text with many stanzas is refused before any curve is computed. */
const MAX_ARMOR_CHARS = 16 * 1024
const MAX_STANZAS = 32
const STANZA = '\n-> '
/** The package's own message. */
const NOT_FOR_THIS_KEY = "no identity matched any of the file's recipients"

/** Throws for an invalid or modified file; undefined when no identity fits. */
export async function openAgeFile(armored: string, identities: readonly AgeIdentity[]): Promise<Buffer | undefined> {
  if (armored.length > MAX_ARMOR_CHARS) throw new Error(`has more than ${MAX_ARMOR_CHARS} characters`)
  const { armor } = await age()
  const file = armor.decode(armored)
  const stanzas = Buffer.from(file).toString('latin1').split(STANZA).length - 1
  if (stanzas > MAX_STANZAS) throw new Error(`has ${stanzas} recipients (limit ${MAX_STANZAS})`)
  for (const { decrypter } of identities)
    try {
      return Buffer.from(await decrypter.decrypt(file))
    } catch (error) {
      if (messageOf(error) !== NOT_FOR_THIS_KEY) throw error
    }
  return undefined
}
