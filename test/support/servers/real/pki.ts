// Keys and certificates of a real cluster, laid out as kubeadm does, and the kubeconfigs of its programs.
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CertificateAuthority, newAuthority, type Pair } from '../tls.ts'

export const SERVICE_RANGE = '10.96.0.0/16'
/** The first of the range: Service `kubernetes`. */
const KUBERNETES_SERVICE = '10.96.0.1'
const NAMES = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local']

export interface ClusterPki {
  readonly ca: CertificateAuthority
  readonly admin: Pair
  /** The path of a file by its name, such as `ca.crt`. */
  readonly file: (name: string) => string
  /** Writes a kubeconfig of this user, and returns its path. */
  kubeconfig(name: string, user: string, groups?: readonly string[]): Promise<string>
  /** Writes `NAME.crt` and `NAME.key`. */
  write(name: string, pair: Pair): void
}

export async function createPki(folder: string, url: string): Promise<ClusterPki> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = (name: string): string => join(folder, name)
  const write = (name: string, { cert, key }: Pair): void => {
    writeFileSync(file(`${name}.crt`), cert)
    writeFileSync(file(`${name}.key`), key, { mode: 0o600 })
  }
  const [ca, frontProxy] = await Promise.all([newAuthority('kubernetes'), newAuthority('front-proxy-ca')])
  write('ca', ca)
  write('front-proxy-ca', frontProxy)
  write('front-proxy-client', await frontProxy.client('front-proxy-client'))
  write('apiserver', await ca.server([new URL(url).hostname, '127.0.0.1', KUBERNETES_SERVICE, 'localhost', ...NAMES]))
  write('apiserver-kubelet-client', await ca.client('kube-apiserver-kubelet-client', ['system:masters']))
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const admin = await ca.client('kubernetes-admin', ['system:masters'])
  const kubeconfigOf = (name: string, { cert, key }: Pair): string => {
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'real',
      clusters: [{ name: 'real', cluster: { server: url, 'certificate-authority-data': base64(ca.cert) } }],
      users: [{ name, user }],
      contexts: [{ name: 'real', context: { cluster: 'real', user: name } }],
    }
    const path = file(`${name}.kubeconfig`)
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
    return path
  }
  kubeconfigOf('admin', admin)
  return {
    ca,
    admin,
    file,
    write,
    kubeconfig: async (name, user, groups) => kubeconfigOf(name, await ca.client(user, groups)),
  }
}
