// Detects node certificates that were not renewed in time.
import { X509Certificate } from 'node:crypto'
import type { Reading } from './reading.ts'

export interface CertificateLife {
  readonly path: string
  readonly from: number
  readonly to: number
}

/** The certificate in a PEM file that expires first counts; keys and other content are ignored. */
export function lifeOf(path: string, pem: string): CertificateLife | undefined {
  const lives = [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].flatMap(([text]) => {
    try {
      const { validFrom, validTo } = new X509Certificate(text)
      return [{ path, from: Date.parse(validFrom), to: Date.parse(validTo) }]
    } catch {
      return []
    }
  })
  return lives.sort((a, b) => a.to - b.to)[0]
}

export function judgeCertificates(lives: readonly CertificateLife[], now: number, minLeftPercent: number): Reading {
  const type = 'CertificateExpiring'
  const old = lives.filter(({ from, to }) => to - now < ((to - from) * minLeftPercent) / 100)
  if (old.length === 0)
    return { type, status: 'False', reason: 'CertificatesValid', message: 'no certificate expires soon' }
  const isOver = old.some((c) => c.to <= now)
  const message = old
    .map(({ path, to }) => `${path} ${to <= now ? 'ended' : 'ends'} ${new Date(to).toISOString().slice(0, 19)}Z`)
    .join('; ')
  return { type, status: 'True', reason: isOver ? 'CertificateExpired' : 'CertificateExpiring', message }
}
