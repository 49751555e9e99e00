// The artifact server's certificate if none is configured: an authority that joining hosts pin, so it stays the same for ten years, and a certificate that all
// replicas share and any of them renews. Both are in one Secret.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { ARTIFACTS_SECRET, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { readSecret, writeSecret } from '#runtime/tls/shared-secret.ts'
import { artifactsErrors } from './artifacts-errors.ts'
import type { ServingPair } from './server.ts'

interface Authority {
  readonly ca: string
  readonly caKey: string
}
export type Held = Authority & ServingPair

const DAY_MS = 86_400_000
const AUTHORITY_DAYS = 3_650
const LIFE_DAYS = 90
const RENEW_BEFORE_MS = 30 * DAY_MS
/** A host whose clock is hours behind still accepts it. */
const EARLIER_MS = DAY_MS
const ATTEMPTS = 3
const SECRET_KEY = { namespace: SYSTEM_NAMESPACE, name: ARTIFACTS_SECRET }

/**
 * The state to keep; the same object if nothing is due. Creates a new authority only if there is none: every host would have to join again, and an agent with a
 * service account would no longer get tokens. So a replica that knows the authority in use restores it into a deleted or emptied Secret.
 */
export function planned(held: Partial<Held>, hosts: readonly string[], now: number, inUse: Partial<Held> = {}): Held {
  const authority = authorityIn(held) ?? authorityIn(inUse) ?? madeAuthority(now)
  const { cert, key } = held
  if (
    authority.ca === held.ca &&
    cert !== undefined &&
    key !== undefined &&
    isGood({ ca: authority.ca, cert, key }, hosts, now)
  )
    return held as Held
  const issued = issueCertificate(
    { certificate: authority.ca, key: authority.caKey },
    {
      subject: { commonName: 'kubenode-artifacts' },
      validity: { now, days: LIFE_DAYS, earlierMs: EARLIER_MS },
      usage: 'server',
      hosts,
    },
  )
  return { ...authority, cert: issued.certificate, key: issued.key }
}

function madeAuthority(now: number): Authority {
  const made = newAuthority('kubenode-artifacts-ca', { now, days: AUTHORITY_DAYS, earlierMs: EARLIER_MS })
  return { ca: made.certificate, caKey: made.key }
}

function authorityIn({ ca, caKey }: Partial<Held>): Authority | undefined {
  try {
    return ca !== undefined && caKey !== undefined && new X509Certificate(ca).ca ? { ca, caKey } : undefined
  } catch {
    return undefined
  }
}

function isGood({ ca, cert, key }: Pick<Held, 'ca' | 'cert' | 'key'>, hosts: readonly string[], now: number): boolean {
  try {
    const own = new X509Certificate(cert)
    if (!own.verify(new X509Certificate(ca).publicKey) || !own.checkPrivateKey(createPrivateKey(key))) return false
    const isFor = (host: string) => (isIP(host) !== 0 ? own.checkIP(host) : own.checkHost(host)) !== undefined
    // Issued by a clock that was ahead: no host accepts it yet.
    if (own.validFromDate.getTime() > now) return false
    return hosts.every(isFor) && own.validToDate.getTime() - now > RENEW_BEFORE_MS
  } catch {
    return false
  }
}

const heldIn = (data: Readonly<Record<string, string>>): Partial<Held> =>
  defined({ ca: data['ca.crt'], caKey: data['ca.key'], cert: data['tls.crt'], key: data['tls.key'] })

interface CertificateRequest {
  readonly hosts: readonly string[]
  readonly now: number
  /** In use by this replica. */
  readonly inUse?: Held | undefined
}

/** Reads the Secret and writes what is due. If two replicas write at once, the first wins. */
export async function ownPair(client: KubeClient, { hosts, now, inUse }: CertificateRequest): Promise<Held> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const found = await readSecret(client, SECRET_KEY)
    const before = heldIn(found.data)
    const wanted = planned(before, hosts, now, inUse)
    const data = { 'ca.crt': wanted.ca, 'ca.key': wanted.caKey, 'tls.crt': wanted.cert, 'tls.key': wanted.key }
    if (wanted === before || (await writeSecret(client, SECRET_KEY, found, data))) return wanted
  }
  throw new KubeNodeError(artifactsErrors.KN14001({ secret: `${SYSTEM_NAMESPACE}/${ARTIFACTS_SECRET}` }), {
    retry: 'later',
  })
}

/** For the join bundles of hosts; undefined while there is none. */
export async function ownAuthority(client: KubeClient): Promise<string | undefined> {
  return (await readSecret(client, SECRET_KEY)).data['ca.crt']
}
