// The files that a control plane's programs read: credentials that the host gives any API server, and those only these programs need. Written again before each
// start.
import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { type Credentials, trustedBy } from '#lib/x509/server-keys.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { issueCertificate, type KeyAndCertificate, newAuthority } from '#lib/x509/certificates.ts'

const DAYS = 3_650
const LOOPBACK = '127.0.0.1'

/** Signs service account tokens. */
export const signerOfAccounts = { key: 'tokens.key', open: 'tokens.pub' } as const

export interface KeysFor {
  readonly credentials: Credentials
  readonly url: string
  readonly now: number
}

/** Returns etcd's keys, for use as its client. */
export function writeKeys(folder: string, { credentials, url, now }: KeysFor): EtcdKeys {
  makePrivateFolder(folder)
  const write = (name: string, text: string): void => writeWholeFile(join(folder, name), text)
  const both = (name: string, { certificate, key }: KeyAndCertificate): void => {
    write(`${name}.crt`, certificate)
    write(`${name}.key`, key)
  }
  const validity = { now, days: DAYS }
  const { authority, server } = credentials
  const client = (commonName: string, organizations: readonly string[] = []): KeyAndCertificate =>
    issueCertificate(authority, { subject: { commonName, organizations }, validity, usage: 'client' })

  write('ca.crt', trustedBy(credentials))
  both('signer', authority)
  both('server', server)
  both('kubelet-client', client('kube-apiserver-kubelet-client', ['system:masters']))
  for (const program of ['kube-controller-manager', 'kube-scheduler']) {
    const user = `system:${program}`
    const text = kubeconfigText({ url, authority: trustedBy(credentials), client: client(user), user })
    write(`${program}.kubeconfig`, text)
  }

  // Only these programs use it, so each start creates a new one.
  const frontProxy = newAuthority('front-proxy-ca', validity)
  write('front-proxy-ca.crt', frontProxy.certificate)
  const subject = { commonName: 'front-proxy-client' }
  both('front-proxy', issueCertificate(frontProxy, { subject, validity, usage: 'client' }))

  write(signerOfAccounts.key, credentials.tokenKey)
  const open = createPublicKey(credentials.tokenKey).export({ type: 'spki', format: 'pem' })
  write(signerOfAccounts.open, [open, ...(credentials.otherTokenKeys ?? [])].join('\n'))
  return writeEtcdKeys(folder, now)
}

/** Without these, another user of the machine could access objects past the API server. */
export function writeEtcdKeys(folder: string, now: number): EtcdKeys {
  makePrivateFolder(folder)
  const validity = { now, days: DAYS }
  const authority = newAuthority('etcd-ca', validity)
  const own = issueCertificate(authority, {
    subject: { commonName: 'etcd' },
    validity,
    usage: 'peer',
    hosts: [LOOPBACK, 'localhost'],
  })
  writeWholeFile(join(folder, 'etcd-ca.crt'), authority.certificate)
  writeWholeFile(join(folder, 'etcd.crt'), own.certificate)
  writeWholeFile(join(folder, 'etcd.key'), own.key)
  return { ca: authority.certificate, own }
}

export interface EtcdKeys {
  readonly ca: string
  readonly own: KeyAndCertificate
}
