// The programs of a rendered control plane on this host: the commands of its pods, with their Secrets as folders, their names as loopback and their ports as free ones.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { initialCluster } from '#api/constructs/control-plane/etcd.ts'
import {
  API_PORT,
  ETCD,
  MANAGER_PORTS,
  type ControlPlaneSettings,
  type Part,
  type SecretName,
} from '#api/constructs/control-plane/settings.ts'
import { credentials, type CredentialInputs } from '#controlplanes/credentials/graph.ts'
import { leafIn, type Held } from '#controlplanes/credentials/held.ts'
import { carryOut } from '#controlplanes/credentials/make.ts'
import { ADMIN_LEAF } from '#controlplanes/credentials/recipe.ts'
import { credentialSettings, secretFiles, type SecretFiles } from '#controlplanes/kubernetes/mounted-secrets.ts'
import { kubernetesRecipe } from '#controlplanes/kubernetes/recipe.ts'
import { freePort } from '../servers/free-port.ts'
import { Programs, thisHost } from '../servers/real/place.ts'
import { programFile, type ProgramName } from '../servers/real/programs.ts'

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

/** Everything that the inputs ask for. */
export function madeFor(inputs: CredentialInputs, before: Held = {}): Held {
  for (let held = before; ;) {
    const [order] = credentials(inputs, Date.now(), held).orders
    if (order === undefined) return held
    const item = carryOut(order, Date.now(), held)
    const { [order.name]: _, ...others } = held
    held = item === undefined ? others : { ...others, [order.name]: item }
  }
}

export class PlanePrograms {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-plane-'))
  readonly programs = new Programs(thisHost, this.folder)
  held: Held = {}
  inputs: CredentialInputs
  #files: SecretFiles | undefined
  readonly #etcdPort: number

  private constructor(etcdPort: number, apiPort: number) {
    this.#etcdPort = etcdPort
    this.inputs = {
      recipe: kubernetesRecipe({ etcdHosts: [HOST, 'localhost'] }),
      endpoint: `https://${HOST}:${apiPort}`,
      hosts: [],
      declared: {},
      servers: { total: 0, running: [] },
      agents: [],
    }
    this.renew()
  }

  /** Managers ask the API server at this port. */
  static async create(apiPort: number): Promise<PlanePrograms> {
    return new PlanePrograms(await freePort(), apiPort)
  }

  /** Makes what the inputs ask for, as the controller does, and answers which Secrets changed. */
  renew(inputs: CredentialInputs = this.inputs): readonly SecretName[] {
    this.inputs = inputs
    this.held = madeFor(inputs, this.held)
    const files = secretFiles(this.held)
    if (files === undefined) throw new Error('a credential is missing')
    const changed = (Object.keys(files) as SecretName[]).filter(
      (name) => JSON.stringify(files[name]) !== JSON.stringify(this.#files?.[name]),
    )
    for (const name of changed) this.#write(name, files[name])
    this.#files = files
    return changed
  }

  get settings(): ReturnType<typeof credentialSettings> {
    if (this.#files === undefined) throw new Error('no credentials yet')
    return credentialSettings(this.#files)
  }

  get ca(): string {
    return this.#files?.['client-ca']['ca.crt'] ?? ''
  }

  /** For people. */
  get admin(): { readonly cert: string; readonly key: string } {
    const leaf = leafIn(this.held, ADMIN_LEAF)
    return { cert: leaf?.certificate ?? '', key: leaf?.key ?? '' }
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

  #here(word: string, settings: ControlPlaneSettings, own: Readonly<Record<number, number>>): string {
    const ports: Readonly<Record<string, number>> = { [ETCD.client]: this.#etcdPort, ...own }
    return word
      .replaceAll('$(POD_NAME)', 'etcd-0')
      .replaceAll('$(CLUSTER_STATE)', 'new')
      .replaceAll('$(CLUSTER_MEMBERS)', initialCluster(settings))
      .replaceAll(`etcd-0.etcd.${settings.namespace}.svc`, HOST)
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
}

/** ConfigMaps are mounted under another name. */
const FOLDERS: Readonly<Record<string, string>> = { 'apiserver-config': 'config' }
