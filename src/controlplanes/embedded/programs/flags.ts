// Command lines of one control plane's programs. Pure. All listen on one machine and authenticate each other by certificate only.
import { asFlags } from '#lib/flags.ts'
import { join } from 'node:path'
import { DEFAULT_NETWORK } from '../../port.ts'
import { signerOfAccounts } from './keys.ts'

export interface ProgramPlaces {
  readonly data: string
  /** Folder of keys and certificates. */
  readonly keys: string
  readonly host: string
  readonly port: number
  readonly etcdPort: number
  readonly peerPort: number
  readonly managerPort: number
  readonly schedulerPort: number
}

const LOOPBACK = '127.0.0.1'

export const storeIn = (data: string): string => join(data, 'etcd')
export const etcdUrl = ({ etcdPort }: Pick<ProgramPlaces, 'etcdPort'>): string => `https://${LOOPBACK}:${etcdPort}`

export function etcdFlags({
  data,
  keys,
  ...ports
}: Pick<ProgramPlaces, 'data' | 'keys' | 'etcdPort' | 'peerPort'>): readonly string[] {
  const [client, peer] = [etcdUrl(ports), `https://${LOOPBACK}:${ports.peerPort}`]
  const [own, authority] = [pair(keys, 'etcd'), join(keys, 'etcd-ca.crt')]
  return asFlags({
    'data-dir': storeIn(data),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    // A single member need not wait for others before it serves.
    'heartbeat-interval': '50',
    'election-timeout': '500',
    'client-cert-auth': 'true',
    'trusted-ca-file': authority,
    'cert-file': own.crt,
    'key-file': own.key,
    'peer-client-cert-auth': 'true',
    'peer-trusted-ca-file': authority,
    'peer-cert-file': own.crt,
    'peer-key-file': own.key,
  })
}

export function serverFlags(places: ProgramPlaces): readonly string[] {
  const { keys, host, port } = places
  const [etcd, server, kubelets, proxy] = [
    pair(keys, 'etcd'),
    pair(keys, 'server'),
    pair(keys, 'kubelet-client'),
    pair(keys, 'front-proxy'),
  ]
  return asFlags({
    'etcd-servers': etcdUrl(places),
    'etcd-cafile': join(keys, 'etcd-ca.crt'),
    'etcd-certfile': etcd.crt,
    'etcd-keyfile': etcd.key,
    'bind-address': host,
    'advertise-address': host,
    'secure-port': String(port),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'enable-bootstrap-token-auth': 'true',
    'allow-privileged': 'true',
    'client-ca-file': join(keys, 'ca.crt'),
    'tls-cert-file': server.crt,
    'tls-private-key-file': server.key,
    'kubelet-client-certificate': kubelets.crt,
    'kubelet-client-key': kubelets.key,
    'kubelet-preferred-address-types': 'InternalIP',
    'proxy-client-cert-file': proxy.crt,
    'proxy-client-key-file': proxy.key,
    'requestheader-client-ca-file': join(keys, 'front-proxy-ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    // Service addresses lead nowhere here: call webhooks and extension API servers at their endpoints.
    'enable-aggregator-routing': 'true',
    'service-account-issuer': `https://kubernetes.default.svc.${DEFAULT_NETWORK.domain}`,
    'service-account-key-file': join(keys, signerOfAccounts.open),
    'service-account-signing-key-file': join(keys, signerOfAccounts.key),
    'service-cluster-ip-range': DEFAULT_NETWORK.services,
  })
}

export function managerFlags({ keys, managerPort }: ProgramPlaces): readonly string[] {
  return asFlags({
    ...clientOf(keys, 'kube-controller-manager', managerPort),
    controllers: '*,bootstrapsigner,tokencleaner',
    'use-service-account-credentials': 'true',
    'client-ca-file': join(keys, 'ca.crt'),
    'requestheader-client-ca-file': join(keys, 'front-proxy-ca.crt'),
    'cluster-signing-cert-file': join(keys, 'signer.crt'),
    'cluster-signing-key-file': join(keys, 'signer.key'),
    'root-ca-file': join(keys, 'ca.crt'),
    'service-account-private-key-file': join(keys, signerOfAccounts.key),
    'service-cluster-ip-range': DEFAULT_NETWORK.services,
  })
}

export const schedulerFlags = ({ keys, schedulerPort }: ProgramPlaces): readonly string[] =>
  asFlags(clientOf(keys, 'kube-scheduler', schedulerPort))

/** With one replica, an election would only wait for its predecessor's lease. */
function clientOf(keys: string, name: string, port: number): Readonly<Record<string, string>> {
  const kubeconfig = join(keys, `${name}.kubeconfig`)
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': LOOPBACK,
    'secure-port': String(port),
    'leader-elect': 'false',
  }
}

const pair = (keys: string, name: string) => ({ crt: join(keys, `${name}.crt`), key: join(keys, `${name}.key`) })
