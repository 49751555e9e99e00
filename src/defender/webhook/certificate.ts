// The webhook's own authority and certificate, kept in one Secret so that a restart and a standby serve the same ones. Renewed before they expire.
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { WEBHOOK_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { defenderErrors } from '../defender-errors.ts'

export interface WebhookCertificate {
  /** PEM. */
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const secretType = coreKind('Secret')
export const WEBHOOK_SECRET = 'kubenode-webhook-tls'

const DAY_MS = 86_400_000
const LIFE_DAYS = 365
/** An API server whose clock is behind ours by hours still admits; only it checks this certificate. */
const EARLIER_MS = DAY_MS
const RENEW_BEFORE_MS = (LIFE_DAYS * DAY_MS) / 3

export function newCertificate(host: string, now: number): WebhookCertificate {
  const validity = { now, days: LIFE_DAYS, earlierMs: EARLIER_MS }
  const authority = newAuthority('kubenode-webhook-ca', validity)
  const subject = { commonName: 'kubenode-webhook' }
  const { key, certificate } = issueCertificate(authority, { subject, validity, usage: 'server', hosts: [host] })
  return { ca: authority.certificate, cert: certificate, key }
}

export function isUsable({ cert, ca }: WebhookCertificate, host: string, now: number): boolean {
  try {
    const own = new X509Certificate(cert)
    const isFor = isIP(host) !== 0 ? own.checkIP(host) !== undefined : own.checkHost(host) !== undefined
    const left = Math.min(own.validToDate.getTime(), new X509Certificate(ca).validToDate.getTime()) - now
    return isFor && left > RENEW_BEFORE_MS
  } catch {
    return false
  }
}

/** The certificate that all defenders of the cluster share. Of two that make one at once the first wins. */
export async function sharedCertificate(client: KubeClient, host: string, clock: Clock): Promise<WebhookCertificate> {
  const key = { namespace: WEBHOOK_NAMESPACE, name: WEBHOOK_SECRET }
  for (let attempt = 0; attempt < 3; attempt++) {
    const found = await client.get(secretType, key)
    const kept = certificateIn(found)
    if (kept !== undefined && isUsable(kept, host, clock.now())) return kept
    const made = newCertificate(host, clock.now())
    const data = Object.fromEntries(
      Object.entries({ 'ca.crt': made.ca, 'tls.crt': made.cert, 'tls.key': made.key }).map(([k, v]) => [
        k,
        Buffer.from(v).toString('base64'),
      ]),
    )
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: key, type: 'kubernetes.io/tls', data }
    const outcome =
      found === undefined
        ? await outcomeOf(() => client.create(secretType, secret))
        : await updateExactly(client, secretType, { ...found, data })
    if (outcome.kind === 'Applied') return made
  }
  throw new KubeNodeError(defenderErrors.KN10001({ webhookSecret: WEBHOOK_SECRET }), {
    retry: 'later',
  })
}

function certificateIn(secret: KubeObject | undefined): WebhookCertificate | undefined {
  const data = secret?.['data']
  if (!isObject(data)) return undefined
  const text = (k: string): string | undefined =>
    typeof data[k] === 'string' ? Buffer.from(data[k], 'base64').toString() : undefined
  const [ca, cert, key] = [text('ca.crt'), text('tls.crt'), text('tls.key')]
  return ca === undefined || cert === undefined || key === undefined ? undefined : { ca, cert, key }
}
