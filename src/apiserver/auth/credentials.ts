// The keys and certificates of one server: read from the data folder or created once and kept there, readable only by the owner.
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { issueCertificate, newAuthority, type KeyAndCertificate } from '#lib/x509/certificates.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

const AUTHORITY_DAYS = 3_650
const CERTIFICATE_DAYS = 3_650

export interface Credentials {
  readonly authority: KeyAndCertificate
  readonly server: KeyAndCertificate
  readonly admin: KeyAndCertificate
  /** PEM of the private key that signs service account tokens. */
  readonly tokenKey: string
}

export const defaultHosts: readonly string[] = [
  'localhost',
  '127.0.0.1',
  '::1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]

export function newCredentials(now: number, hosts: readonly string[]): Credentials {
  const authority = newAuthority('kubenode-ca', { now, days: AUTHORITY_DAYS })
  const validity = { now, days: CERTIFICATE_DAYS }
  const server = issueCertificate(authority, {
    subject: { commonName: 'kube-apiserver' },
    validity,
    usage: 'server',
    hosts: [...new Set([...defaultHosts, ...hosts])],
  })
  const admin = issueCertificate(authority, {
    subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
    validity,
    usage: 'client',
  })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { authority, server, admin, tokenKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}

const FILES = ['ca.crt', 'ca.key', 'server.crt', 'server.key', 'admin.crt', 'admin.key', 'tokens.key'] as const

/** Existing files are used unchanged. Created all or none: half a folder is damage, and reported as such. */
export function credentialsIn(folder: string, now: number, hosts: readonly string[]): Credentials {
  const missing = FILES.filter((f) => !existsSync(join(folder, f)))
  if (missing.length === 0) return readCredentials(folder)
  if (missing.length < FILES.length)
    throw new KubeNodeError(apiserverErrors.KN6104({ folder, missing: missing.join(', ') }))
  const made = newCredentials(now, hosts)
  const fresh = `${folder}.new`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true, mode: 0o700 })
  const write = (name: (typeof FILES)[number], text: string) =>
    writeFileSync(join(fresh, name), text, { mode: 0o600, flush: true })
  write('ca.crt', made.authority.certificate)
  write('ca.key', made.authority.key)
  write('server.crt', made.server.certificate)
  write('server.key', made.server.key)
  write('admin.crt', made.admin.certificate)
  write('admin.key', made.admin.key)
  write('tokens.key', made.tokenKey)
  renameSync(fresh, folder)
  return made
}

function readCredentials(folder: string): Credentials {
  const read = (name: (typeof FILES)[number]): string => {
    const file = join(folder, name)
    const text = readFileSync(file, 'utf8')
    try {
      if (name.endsWith('.crt')) return new X509Certificate(text).toString()
      createPrivateKey(text)
      return text
    } catch (e) {
      throw new KubeNodeError(apiserverErrors.KN6105({ file, why: messageOf(e), folder }), { cause: e })
    }
  }
  return {
    authority: { certificate: read('ca.crt'), key: read('ca.key') },
    server: { certificate: read('server.crt'), key: read('server.key') },
    admin: { certificate: read('admin.crt'), key: read('admin.key') },
    tokenKey: read('tokens.key'),
  }
}

export interface KubeconfigOf {
  readonly url: string
  readonly authority: string
  readonly client: KeyAndCertificate
  readonly user: string
}

/** A kubeconfig with everything embedded; YAML although JSON would do, because people read it. */
export function kubeconfigText({ url, authority, client, user }: KubeconfigOf): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return `apiVersion: v1
kind: Config
clusters:
  - name: kubenode
    cluster:
      server: ${url}
      certificate-authority-data: ${base64(authority)}
users:
  - name: ${user}
    user:
      client-certificate-data: ${base64(client.certificate)}
      client-key-data: ${base64(client.key)}
contexts:
  - name: kubenode
    context:
      cluster: kubenode
      user: ${user}
current-context: kubenode
`
}
