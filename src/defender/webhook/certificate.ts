// The webhook's own authority and certificate, kept in one Secret so that a restart and a standby serve the same ones. Made anew before they run out.
import { X509Certificate } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
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

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
const LIFE_MS = 365 * DAY_MS
/** Clocks that differ a little do no harm. */
const EARLIER_MS = DAY_MS
const RENEW_BEFORE_MS = LIFE_MS / 3

export async function newCertificate(host: string, now: number): Promise<WebhookCertificate> {
  // Loaded here: it is needed once a year.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const validity = { notBefore: new Date(now - EARLIER_MS), notAfter: new Date(now + LIFE_MS) }
  const serialNumber = () => Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex')
  const keys = await newKeys()
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=kubenode-webhook-ca',
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  const own = await newKeys()
  const type = /^[0-9.]+$|:/.test(host) ? 'ip' : 'dns'
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=kubenode-webhook',
    issuer: ca.subject,
    ...validity,
    signingAlgorithm: ALGORITHM,
    publicKey: own.publicKey,
    signingKey: keys.privateKey,
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type, value: host }]),
    ],
  })
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', own.privateKey)).toString('base64')
  const key = `-----BEGIN PRIVATE KEY-----\n${(der.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`
  return { ca: ca.toString('pem'), cert: cert.toString('pem'), key }
}

export function isUsable({ cert, ca }: WebhookCertificate, host: string, now: number): boolean {
  try {
    const own = new X509Certificate(cert)
    const isFor = /^[0-9.]+$|:/.test(host) ? own.checkIP(host) !== undefined : own.checkHost(host) !== undefined
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
    const made = await newCertificate(host, clock.now())
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
