// How reports name a cluster's authorities: by the SHA-256 of each certificate. Pure.
import { X509Certificate } from 'node:crypto'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** A cluster has one, or two during a replacement; some publish more. */
export const MOST_AUTHORITIES = 8

/** In hex, in the order of the bundle; unreadable certificates are left out. */
export const authorityPrints = (bundle: string): readonly string[] =>
  certificatesIn(bundle)
    .slice(0, MOST_AUTHORITIES)
    .flatMap((pem) => printOf(pem) ?? [])

/** Print of the authority in the bundle that signed the certificate. */
export function signerPrint(certificate: string, bundle: string): string | undefined {
  try {
    const own = new X509Certificate(certificate)
    const signer = certificatesIn(bundle).find((pem) => own.verify(new X509Certificate(pem).publicKey))
    return signer === undefined ? undefined : printOf(signer)
  } catch {
    return undefined
  }
}

function printOf(pem: string): string | undefined {
  try {
    return sha256Hex(new X509Certificate(pem).raw)
  } catch {
    return undefined
  }
}
