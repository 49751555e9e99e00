// Gives each program its own identity: a client certificate signed by the cluster, kept in a kubeconfig file. None of them is the admin.
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { signerPrint } from '#identity/authority-prints.ts'
import { programUser } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { KubeClient } from '#kube/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { base64 } from '#controlplanes/credentials/secrets.ts'
import { localErrors } from './local-errors.ts'

export type ProgramIdentity = 'sync' | 'controllers' | 'approver' | 'defender' | 'cluster' | 'history'

const requests = coreKind('CertificateSigningRequest')
const SIGNER = 'kubernetes.io/kube-apiserver-client'
/** A start renews a certificate that is past half of its life. */
const LIFE_SECONDS = 365 * 24 * 3_600
const SIGN_WITHIN_MS = 15_000
const POLL_MS = 50

export interface Cluster {
  readonly name: string
  readonly server: string
  /** PEM. */
  readonly ca: string
  /** Fingerprint of the authority that signs now, where another may sign later. */
  readonly signer?: string | undefined
}

/** The authority that signs now also signed the certificate in the kubeconfig that the server keeps up to date. */
export function signerIn(path: string): string | undefined {
  const { config } = parseSafeKubeconfig(readFileSync(path, 'utf8'), path)
  const [ca, cert] = [config.ca, config.clientCertificate?.cert]
  if (ca === undefined || cert === undefined || !('data' in ca) || !('data' in cert)) return undefined
  return signerPrint(cert.data, ca.data)
}

/** True if the file still names this cluster and its certificate is not close to expiry. */
function isFresh(path: string, cluster: Cluster, now: number): boolean {
  if (!existsSync(path)) return false
  try {
    const { config } = parseSafeKubeconfig(readFileSync(path, 'utf8'), path)
    const cert = config.clientCertificate?.cert
    if (config.server !== cluster.server || cert === undefined || !('data' in cert)) return false
    const sameCa = config.ca !== undefined && 'data' in config.ca && config.ca.data.trim() === cluster.ca.trim()
    if (cluster.signer !== undefined && signerPrint(cert.data, cluster.ca) !== cluster.signer) return false
    const { validFromDate, validToDate } = new X509Certificate(cert.data)
    // Issued while the clock was ahead: no server accepts it yet.
    const isValid = validFromDate.getTime() <= now
    return sameCa && isValid && validToDate.getTime() - now > (LIFE_SECONDS * 1_000) / 2
  } catch {
    return false
  }
}

async function signed(admin: KubeClient, name: string, request: string, clock: Clock): Promise<string> {
  const created = await admin.create(requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: `${name}-` },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: SIGNER,
      usages: ['client auth', 'digital signature'],
      expirationSeconds: LIFE_SECONDS,
    },
  })
  const approval = { type: 'Approved', status: 'True', reason: 'LocalFleet', message: 'created by kubenode local up' }
  await admin.update(requests, { ...created, status: { conditions: [approval] } }, { subresource: 'approval' })
  const until = clock.monotonic() + SIGN_WITHIN_MS
  while (clock.monotonic() < until) {
    const seen: KubeObject | undefined = await admin.get(requests, { name: created.metadata.name ?? '' })
    const certificate = isObject(seen?.['status']) ? seen['status']['certificate'] : undefined
    if (typeof certificate === 'string' && certificate !== '') return Buffer.from(certificate, 'base64').toString()
    await clock.sleep(POLL_MS)
  }
  throw new KubeNodeError(localErrors.KN1211({ name, signWithinMs: SIGN_WITHIN_MS / 1000 }))
}

function kubeconfig({ name, server, ca }: Cluster, user: string, cert: string, key: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user } }],
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: user, user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
  })
}

/** Leaves a valid kubeconfig of the identity in `path`; makes a new one only if the existing one is not valid. */
export async function provideIdentity(
  admin: KubeClient,
  cluster: Cluster,
  identity: string,
  path: string,
  clock: Clock,
): Promise<void> {
  if (isFresh(path, cluster, clock.now())) return
  const key = await newPrivateKey()
  const request = await signingRequest(key, { commonName: programUser(identity) })
  const cert = await signed(admin, `kubenode-${identity}`, request, clock)
  writeWholeFile(path, kubeconfig(cluster, programUser(identity), cert, key))
}
