// Creates the signed trust document described by command line options. Refuses to write one that no agent would accept.
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { PublicKey, Signer } from '#api/trust/keys.ts'
import { type SignedTrust, type TrustDocument, judgeTrust, trustBytes } from '#api/trust/trust-document.ts'
import { artifactErrors } from './artifact-errors.ts'

export interface TrustOptions {
  readonly output: string
  readonly sequence: string
  readonly threshold: string
  readonly expires: string
  /** As printed by `keys new`; empty means the signing keys. */
  readonly keys: readonly string[]
}

export const noTime = (path: string, text: string): KubeNodeError =>
  new KubeNodeError(
    artifactErrors.KN1002_trustDocument({
      path,
      why: `--expires ${JSON.stringify(text)} is no time such as 2027-01-31T00:00:00Z`,
    }),
  )

export function newTrust(options: TrustOptions, signers: readonly Signer[], now: number): SignedTrust {
  const wrong = (why: string) => new KubeNodeError(artifactErrors.KN1002_trustDocument({ path: options.output, why }))
  const countOf = (flag: string, text: string): number => {
    if (!/^[1-9]\d{0,8}$/.test(text)) throw wrong(`${flag} ${JSON.stringify(text)} is not a whole number from 1 on`)
    return Number(text)
  }
  const publicKeyOf = (text: string): PublicKey => {
    const key = parsed(text)
    if (isObject(key) && typeof key['keyId'] === 'string' && typeof key['publicKey'] === 'string')
      return { keyId: key['keyId'], publicKey: key['publicKey'] }
    throw wrong(`--key ${JSON.stringify(text)} is no public key as kubenode artifact keys new prints it`)
  }
  if (Number.isNaN(Date.parse(options.expires))) throw noTime(options.output, options.expires)
  const document: TrustDocument = {
    sequence: countOf('--sequence', options.sequence),
    expires: options.expires,
    threshold: countOf('--threshold', options.threshold),
    keys: options.keys.length > 0 ? options.keys.map(publicKeyOf) : signers.map((s) => s.publicKey),
    revoked: [],
    floors: {},
  }
  const signed = { document, signatures: signers.map((s) => s.sign(trustBytes(document))) }
  // Which signatures are required depends on the document an agent holds.
  const verdict = judgeTrust({ sequence: 0, threshold: 0, keys: document.keys }, signed, now)
  if (verdict.kind === 'Refused') throw wrong(verdict.reason)
  return signed
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
