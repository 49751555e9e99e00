// Keys of age, and what they open: the key of a document of sops. The package age-encryption does the work; what is here bounds what it is given.
import type { Decrypter } from 'age-encryption'
import { messageOf } from '#lib/errors.ts'

export interface AgeIdentity {
  readonly decrypter: Decrypter
  /** `age1…`, for messages. */
  readonly recipient: string
}

/** One Secret holds the current key and a few older ones. */
const MAX_IDENTITIES = 20
/** As age-keygen writes them. Keys of plugins, of passphrases and of the post-quantum hybrid are others, and no file of sops needs one. */
const X25519_KEY = /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/

/** The package with its cryptography is loaded where a fleet has encrypted files, and nowhere else. */
const age = () => import('age-encryption')

/** One key a line, with comments. Throws a text without the key where a line is none. */
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
    // Without a cause: the message of the package repeats the key.
    throw new Error('has a line that is no X25519 key of age (AGE-SECRET-KEY-1…)')
  }
}

/** A key of 32 bytes for one recipient takes 500; one in place of it with many stanzas is refused before any curve is computed. */
const MAX_ARMOR_CHARS = 16 * 1024
const MAX_STANZAS = 32
const STANZA = '\n-> '
/** In words of the package. */
const NOT_FOR_THIS_KEY = "no identity matched any of the file's recipients"

/** Throws for a file that is none or was changed; undefined when no identity fits. */
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
