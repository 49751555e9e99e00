// The control plane of a real cluster as kubeadm starts it: etcd, kube-apiserver, kube-controller-manager, kube-scheduler. Needs no root; etcd alone has no TLS.
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunningServer } from '../running-server.ts'
import { freePort } from '../free-port.ts'
import { type ClusterPki, createPki, SERVICE_RANGE } from './pki.ts'
import { type Place, Programs, thisHost, untilUp } from './place.ts'
import { programFile, type ProgramName } from './programs.ts'

export interface ControlPlane extends RunningServer {
  /** Keys, logs and data; goes with the cluster. */
  readonly folder: string
  readonly pki: ClusterPki
  readonly programs: Programs
  /** Of a program on this host, for measurements. */
  pid(name: ProgramName): number
}

export interface ControlPlaneOptions {
  readonly place?: Place
  /** More flags of a program. */
  readonly flags?: Readonly<Partial<Record<ProgramName, readonly string[]>>>
  /** etcd answers only what is on the disk; without it, tests save half their time. */
  readonly fsync?: boolean
  /** kube-apiserver and etcd alone. */
  readonly bare?: boolean
}

/** As clusters of some providers are: no certificates for clients are signed, and bootstrap tokens are not accepted. */
export const SIGNERLESS: NonNullable<ControlPlaneOptions['flags']> = {
  'kube-apiserver': ['--enable-bootstrap-token-auth=false'],
  'kube-controller-manager': ['--controllers=*,-certificatesigningrequest-signing-controller'],
}

/** A machine whose two cores have forty other things to do takes minutes for what takes an idle one four seconds. */
const START_WITHIN_MS = 300_000
const GRACE_MS = 10_000

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { place = thisHost } = options
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-real-'))
  const programs = new Programs(place, folder)
  const stop = async () => {
    await programs.stop(GRACE_MS)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const port = await freePort()
    const url = `https://${place.address}:${port}`
    const pki = await createPki(join(folder, 'pki'), url)
    const parts = { place, folder, programs, port, pki }
    await startServer(options, parts)
    await untilUp(programs, 'kube-apiserver', START_WITHIN_MS, () => isReady(url, pki))
    // They end when a server does not answer within seconds, as on a loaded machine.
    if (options.bare !== true) await startClients(options, parts)
    const { cert, key } = pki.admin
    const pid = (name: ProgramName) => programs.pid(name)
    const kubeconfig = pki.file('admin.kubeconfig')
    return { url, ca: pki.ca.cert, cert, key, kubeconfig, folder, pki, programs, pid, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Parts {
  readonly place: Place
  readonly folder: string
  readonly programs: Programs
  readonly port: number
  readonly pki: ClusterPki
}

const starter =
  ({ flags = {} }: ControlPlaneOptions, { programs }: Parts) =>
  (name: ProgramName, own: Readonly<Record<string, string>>): void =>
    programs.start(name, programFile(name), [
      ...Object.entries(own).map(([flag, value]) => `--${flag}=${value}`),
      ...(flags[name] ?? []),
    ])

async function startServer(options: ControlPlaneOptions, parts: Parts): Promise<void> {
  const { folder, pki, port, place } = parts
  const start = starter(options, parts)
  const etcd = `http://127.0.0.1:${await freePort()}`
  const peer = `http://127.0.0.1:${await freePort()}`
  start('etcd', {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': etcd,
    'advertise-client-urls': etcd,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    ...(options.fsync !== true && { 'unsafe-no-fsync': 'true' }),
  })
  start('kube-apiserver', {
    'etcd-servers': etcd,
    'bind-address': place.address,
    'advertise-address': place.address,
    'secure-port': String(port),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'enable-bootstrap-token-auth': 'true',
    'allow-privileged': 'true',
    'client-ca-file': pki.file('ca.crt'),
    'tls-cert-file': pki.file('apiserver.crt'),
    'tls-private-key-file': pki.file('apiserver.key'),
    'kubelet-client-certificate': pki.file('apiserver-kubelet-client.crt'),
    'kubelet-client-key': pki.file('apiserver-kubelet-client.key'),
    'kubelet-preferred-address-types': 'InternalIP',
    'proxy-client-cert-file': pki.file('front-proxy-client.crt'),
    'proxy-client-key-file': pki.file('front-proxy-client.key'),
    'requestheader-client-ca-file': pki.file('front-proxy-ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': pki.file('sa.pub'),
    'service-account-signing-key-file': pki.file('sa.key'),
    'service-cluster-ip-range': SERVICE_RANGE,
  })
}

async function startClients(options: ControlPlaneOptions, parts: Parts): Promise<void> {
  const { pki } = parts
  const start = starter(options, parts)
  const [manager, scheduler] = await Promise.all([
    pki.kubeconfig('controller-manager', 'system:kube-controller-manager'),
    pki.kubeconfig('scheduler', 'system:kube-scheduler'),
  ])
  start('kube-controller-manager', {
    kubeconfig: manager,
    'authentication-kubeconfig': manager,
    'authorization-kubeconfig': manager,
    'bind-address': '127.0.0.1',
    'secure-port': String(await freePort()),
    controllers: '*,bootstrapsigner,tokencleaner',
    'use-service-account-credentials': 'true',
    'client-ca-file': pki.file('ca.crt'),
    'requestheader-client-ca-file': pki.file('front-proxy-ca.crt'),
    'cluster-signing-cert-file': pki.file('ca.crt'),
    'cluster-signing-key-file': pki.file('ca.key'),
    'root-ca-file': pki.file('ca.crt'),
    'service-account-private-key-file': pki.file('sa.key'),
    'service-cluster-ip-range': SERVICE_RANGE,
    'leader-elect': 'false',
  })
  start('kube-scheduler', {
    kubeconfig: scheduler,
    'authentication-kubeconfig': scheduler,
    'authorization-kubeconfig': scheduler,
    'bind-address': '127.0.0.1',
    'secure-port': String(await freePort()),
    'leader-elect': 'false',
  })
}

function isReady(url: string, { ca, admin }: ClusterPki): Promise<true | undefined> {
  const { hostname, port } = new URL(url)
  const options = { hostname, port, path: '/readyz', ca: ca.cert, cert: admin.cert, key: admin.key, timeout: 5_000 }
  return new Promise((resolve, reject) => {
    const asked = request(options, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode === 200 ? true : undefined))
    })
    asked.once('timeout', () => asked.destroy(new Error('no answer')))
    asked.once('error', reject)
    asked.end()
  })
}
