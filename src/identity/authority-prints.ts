// How the authorities of a cluster are named in reports: by the SHA-256 of each certificate. Pure.
import { createHash, X509Certificate } from 'node:crypto'
import { certificatesIn } from '#lib/x509/pem-list.ts'

/** A cluster has one, and two while one is replaced; others may publish more. */
export const MOST_AUTHORITIES = 8

/** In hex, in the order of the bundle; certificates that cannot be read are left out. */
export const authorityPrints = (bundle: string): readonly string[] =>
  certificatesIn(bundle)
    .slice(0, MOST_AUTHORITIES)
    .flatMap((pem) => printOf(pem) ?? [])

/** Print of the authority that signed the certificate, of those in the bundle. */
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
    return createHash('sha256').update(new X509Certificate(pem).raw).digest('hex')
  } catch {
    return undefined
  }
}
