// Digests of certificates and of what an item is made from. Pure.
import { X509Certificate } from 'node:crypto'
import { authorityPrints } from '#identity/authority-prints.ts'

/** As agents report the authorities that they trust. */
export const certificatePrint = (pem: string): string => authorityPrints(pem)[0] ?? ''

/** Due at this share of its life: the last third is left for a hub that is away. */
const RENEWED_AT = 2 / 3

export const renewTime = (from: number, until: number): number => from + (until - from) * RENEWED_AT

/** Good already, and not due. One that was made by a clock far ahead is of no use until its time comes, and is made again. */
export const isCurrent = (certificate: string, now: number): boolean =>
  new X509Certificate(certificate).validFromDate.getTime() <= now && now < renewAt(certificate)

export function renewAt(certificate: string): number {
  const { validFromDate, validToDate } = new X509Certificate(certificate)
  return renewTime(validFromDate.getTime(), validToDate.getTime())
}
