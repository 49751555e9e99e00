// The subject of a certificate, parsed part by part: the printed subject merges several organizations into one line if the signer put them in one set.
import type { X509Certificate } from 'node:crypto'
import { inside, readDer } from './der.ts'
import { readName, type NameRead } from './name.ts'

/** Explicit tag of the version, which the oldest certificates lack. */
const VERSION = 0xa0
/** After serial number, algorithm, issuer and validity. */
const SUBJECT = 4

/** Undefined if programs may read its name differently. */
export function holderOf(certificate: X509Certificate): NameRead | undefined {
  try {
    const [content] = inside(readDer(certificate.raw)[0])
    const parts = inside(content).filter((part) => part.tag !== VERSION)
    const subject = parts[SUBJECT]
    return subject === undefined ? undefined : readName(subject)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
