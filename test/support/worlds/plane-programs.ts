// The programs of a rendered control plane on this host: the commands of its pods, with their Secrets as folders, their names as loopback and their ports as free ones.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import {
  API_PORT,
  ETCD,
  MANAGER_PORTS,
  type ControlPlaneSettings,
  type Part,
  type SecretName,
} from '#api/constructs/control-plane/settings.ts'
import { freePort } from '../servers/free-port.ts'
import { Programs, thisHost } from '../servers/real/place.ts'
import { programFile, type ProgramName } from '../servers/real/programs.ts'
import { newAuthority, type Pair } from '../servers/tls.ts'

const HOST = '127.0.0.1'
/** Longer than an API server announces its end. */
const GRACE_MS = 120_000

const PROGRAMS: Readonly<Record<Part, ProgramName>> = {
  etcd: 'etcd',
  apiserver: 'kube-apiserver',
  'controller-manager': 'kube-controller-manager',
  scheduler: 'kube-scheduler',
}

interface Template {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly [{ readonly command: readonly string[] }] } }
  }
}

export class PlanePrograms {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-plane-'))
  readonly programs = new Programs(thisHost, this.folder)
  readonly ca: string
  readonly admin: Pair
  readonly #etcdPort: number

  private constructor(ca: string, admin: Pair, etcdPort: number) {
    this.ca = ca
    this.admin = admin
    this.#etcdPort = etcdPort
  }

  /** Managers ask the API server at this port. */
  static async create(apiPort: number): Promise<PlanePrograms> {
    const [ca, etcd, proxy] = await Promise.all([newAuthority('ca'), newAuthority('etcd-ca'), newAuthority('proxy-ca')])
    const plane = new PlanePrograms(ca.cert, await ca.client('kubernetes-admin', ['system:masters']), await freePort())
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const kubeconfig = async (user: string) => plane.#kubeconfig(await ca.client(user), apiPort)
    const pair = ({ cert, key }: Pair) => ({ 'tls.crt': cert, 'tls.key': key })
    const secrets: Readonly<Record<SecretName, Readonly<Record<string, string>>>> = {
      'etcd-server': { ...pair(await etcd.peer()), 'ca.crt': etcd.cert },
      'etcd-peer': { ...pair(await etcd.peer()), 'ca.crt': etcd.cert },
      'apiserver-etcd': { ...pair(await etcd.client('kube-apiserver')), 'ca.crt': etcd.cert },
      apiserver: { ...pair(await ca.server([HOST, '10.96.0.1', 'localhost'])), 'client-ca.crt': ca.cert },
      'apiserver-kubelet': pair(await ca.client('kube-apiserver-kubelet-client', ['system:masters'])),
      'front-proxy': { ...pair(await proxy.client('front-proxy-client')), 'ca.crt': proxy.cert },
      'service-accounts': {
        'sa.key': privateKey.export({ type: 'pkcs8', format: 'pem' }),
        'sa.pub': publicKey.export({ type: 'spki', format: 'pem' }),
      },
      encryption: { 'config.yaml': encryption(randomBytes(32).toString('base64')) },
      'cluster-ca': pair(ca),
      'controller-manager-kubeconfig': { kubeconfig: await kubeconfig('system:kube-controller-manager') },
      'scheduler-kubeconfig': { kubeconfig: await kubeconfig('system:kube-scheduler') },
    }
    for (const [secret, files] of Object.entries(secrets)) plane.#write(secret, files)
    return plane
  }

  /** A second one of the same part has another name. */
  start(
    settings: ControlPlaneSettings,
    part: Part,
    options: { readonly name?: string; readonly port?: number } = {},
  ): void {
    const { name = part, port = 0 } = options
    const objects = controlPlaneObjects(settings)
    for (const { kind, data, metadata } of objects as readonly {
      kind: string
      data?: never
      metadata: { name: string }
    }[])
      if (kind === 'ConfigMap' && data !== undefined) this.#write(FOLDERS[metadata.name] ?? metadata.name, data)
    const templates = objects as unknown as readonly Template[]
    const command = templates
      .map((o) => o.spec?.template?.spec.containers[0].command)
      .find((words) => words?.[0]?.endsWith(part))
    if (command === undefined) throw new Error(`no command for ${part}`)
    const own = { [API_PORT]: port, ...(part in MANAGER_PORTS && { [MANAGER_PORTS[part as never] as number]: port }) }
    this.programs.start(
      name,
      programFile(PROGRAMS[part]),
      command.slice(1).map((word) => this.#here(word, settings, own)),
    )
  }

  async stop(): Promise<void> {
    await this.programs.stop(GRACE_MS)
    rmSync(this.folder, { recursive: true, force: true })
  }

  #here(word: string, { namespace }: ControlPlaneSettings, own: Readonly<Record<number, number>>): string {
    const ports: Readonly<Record<string, number>> = { [ETCD.client]: this.#etcdPort, ...own }
    return word
      .replaceAll('$(POD_NAME)', 'etcd-0')
      .replaceAll(`etcd-0.etcd.${namespace}.svc`, HOST)
      .replaceAll('0.0.0.0', HOST)
      .replaceAll('/etc/kubernetes', join(this.folder, 'secrets'))
      .replaceAll('/var/lib/etcd', join(this.folder, 'etcd'))
      .replaceAll(/(:|port=)(\d+)\b/g, (all, before: string, port: string) =>
        ports[port] === undefined ? all : `${before}${ports[port]}`,
      )
  }

  #write(folder: string, files: Readonly<Record<string, string>>): void {
    const path = join(this.folder, 'secrets', folder)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text, { mode: 0o600 })
  }

  #kubeconfig({ cert, key }: Pair, port: number): string {
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      clusters: [
        { name: 'here', cluster: { server: `https://${HOST}:${port}`, 'certificate-authority-data': base64(this.ca) } },
      ],
      users: [{ name: 'me', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
    })
  }
}

/** ConfigMaps are mounted under another name. */
const FOLDERS: Readonly<Record<string, string>> = { 'apiserver-config': 'config' }

const encryption = (key: string): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        providers: [{ secretbox: { keys: [{ name: 'key-1', secret: key }] } }, { identity: {} }],
      },
    ],
  })
