// Certificates shared by a role's replicas, and when each step of a rotation is due. An authority enters the bundle before its certificates are used and stays
// after, so no client meets a certificate it does not trust yet or no longer trusts. Pure except for making keys.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { defined } from '#lib/defined.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'

export interface ServingCertificate {
  /** PEM of the authority that signed it and nothing else. */
  readonly ca: string
  readonly cert: string
  readonly key: string
}

export interface CertificateState {
  readonly current: ServingCertificate
  /** Its authority is already trusted; it is used once all clients had time to read the bundle. */
  readonly next?: ServingCertificate
  /** Still trusted while a replica may serve a certificate it signed. */
  readonly previousCa?: string
}

export interface CertificateNames {
  readonly commonName: string
  /** Names that clients use for it; usable only if the certificate has all of them. */
  readonly hosts: readonly string[]
}

const DAY_MS = 86_400_000
const LIFE_DAYS = 365
/** A client whose clock is hours behind still accepts it. */
const EARLIER_MS = DAY_MS
const RENEW_BEFORE_MS = (LIFE_DAYS * DAY_MS) / 3

/** By then every API server and scraper has read the new bundle: they watch it, and mounted Secrets follow within two minutes. */
export const TRUSTED_BEFORE_USE_MS = 10 * 60_000
/** Replicas serve the new certificate within seconds. A replica cut off from the API server has been restarted or repaired by then. */
export const TRUSTED_AFTER_USE_MS = DAY_MS

export function newServingCertificate(
  { commonName, hosts }: CertificateNames,
  now: number,
  days = LIFE_DAYS,
): ServingCertificate {
  const validity = { now, days, earlierMs: EARLIER_MS }
  const authority = newAuthority(`${commonName}-ca`, validity)
  const { key, certificate } = issueCertificate(authority, {
    subject: { commonName },
    validity,
    usage: 'server',
    hosts,
  })
  return { ca: authority.certificate, cert: certificate, key }
}

/** Remaining validity; 0 if a part is damaged, does not match, or lacks a name. */
function leftMs({ cert, key, ca }: ServingCertificate, hosts: readonly string[], now: number): number {
  try {
    const [own, authority] = [new X509Certificate(cert), new X509Certificate(ca)]
    const isFor = (host: string): boolean =>
      isIP(host) !== 0 ? own.checkIP(host) !== undefined : own.checkHost(host) !== undefined
    const isWhole = own.verify(authority.publicKey) && own.checkPrivateKey(createPrivateKey(key))
    if (!isWhole || !hosts.every(isFor)) return 0
    // Issued by a clock that was ahead, or this clock is behind: clients do not accept it yet.
    if ([own, authority].some((c) => c.validFromDate.getTime() > now)) return 0
    return Math.min(own.validToDate.getTime(), authority.validToDate.getTime()) - now
  } catch {
    return 0
  }
}

export const isUsable = (certificate: ServingCertificate, hosts: readonly string[], now: number): boolean =>
  leftMs(certificate, hosts, now) > RENEW_BEFORE_MS

export interface RotationSeen extends CertificateNames {
  readonly now: number
  /** How long this process has known that clients can read a bundle with this authority; 0 if they cannot. */
  readonly trustedMs: (ca: string) => number
  /** How long this process has known of a kept previous authority. */
  readonly keptMs: (ca: string) => number
}

/** The state to write; the same object if nothing is due. One step at a time. */
export function rotated(state: CertificateState | undefined, seen: RotationSeen): CertificateState {
  const { hosts, now } = seen
  if (state === undefined) return { current: newServingCertificate(seen, now) }
  const { current, next, previousCa } = state
  const hasExpired = leftMs(current, hosts, now) <= 0
  if (next !== undefined && leftMs(next, hosts, now) <= 0) return without(state, 'next')
  if (next !== undefined && (hasExpired || seen.trustedMs(next.ca) >= TRUSTED_BEFORE_USE_MS))
    return { current: next, previousCa: current.ca }
  // Waiting for clients to trust it first would leave nothing to serve.
  if (hasExpired) return { current: newServingCertificate(seen, now), previousCa: current.ca }
  if (next === undefined && !isUsable(current, hosts, now)) return { ...state, next: newServingCertificate(seen, now) }
  if (previousCa !== undefined && seen.keptMs(previousCa) >= TRUSTED_AFTER_USE_MS) return without(state, 'previousCa')
  return state
}

function without(state: CertificateState, field: 'next' | 'previousCa'): CertificateState {
  const { [field]: _gone, ...rest } = state
  return rest
}

/** PEM of every authority whose certificates a client may meet. API servers refuse a whole bundle for one damaged entry. */
export const bundleOf = ({ current, next, previousCa }: CertificateState): string =>
  [...new Set([current.ca, next?.ca, previousCa].filter((ca) => ca !== undefined && isReadable(ca)))].join('')

function isReadable(ca: string): boolean {
  try {
    return new X509Certificate(ca).ca
  } catch {
    return false
  }
}

/** Keys of a TLS Secret; `ca.crt` is the bundle, for clients that mount it. */
export const certificateData = (state: CertificateState): Readonly<Record<string, string>> => {
  const { current, next, previousCa } = state
  return {
    'ca.crt': bundleOf(state),
    'tls.crt': current.cert,
    'tls.key': current.key,
    'current-ca.crt': current.ca,
    ...(next !== undefined && { 'next-ca.crt': next.ca, 'next.crt': next.cert, 'next.key': next.key }),
    ...defined({ 'previous-ca.crt': previousCa }),
  }
}

export function certificateIn(data: Readonly<Record<string, string>>): CertificateState | undefined {
  const current = trio(data['current-ca.crt'] ?? data['ca.crt'], data['tls.crt'], data['tls.key'])
  if (current === undefined) return undefined
  const next = trio(data['next-ca.crt'], data['next.crt'], data['next.key'])
  const previousCa = data['previous-ca.crt']
  return { current, ...defined({ next, previousCa }) }
}

const trio = (ca?: string, cert?: string, key?: string): ServingCertificate | undefined =>
  ca === undefined || cert === undefined || key === undefined ? undefined : { ca, cert, key }
