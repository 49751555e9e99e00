// Digests of certificates and of an item's inputs. Pure.
import { X509Certificate } from 'node:crypto'
import { authorityPrints } from '#identity/authority-prints.ts'

/** In the form in which agents report their trusted authorities. */
export const certificatePrint = (pem: string): string => authorityPrints(pem)[0] ?? ''

/** Renewed after this share of its life: the last third is a reserve for an unavailable hub. */
const RENEWED_AT = 2 / 3

export const renewTime = (from: number, until: number): number => from + (until - from) * RENEWED_AT

/** Valid and not due. A certificate issued by a clock far ahead is not valid yet and is created again. */
export const isCurrent = (certificate: string, now: number): boolean =>
  new X509Certificate(certificate).validFromDate.getTime() <= now && now < renewAt(certificate)

export function renewAt(certificate: string): number {
  const { validFromDate, validToDate } = new X509Certificate(certificate)
  return renewTime(validFromDate.getTime(), validToDate.getTime())
}
