// The members of a rendered etcd as processes of this host: the pods of its StatefulSet with a folder each in place of the volume, and real programs.
import { execFile } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { ETCD } from '#api/constructs/control-plane/settings.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { freePort } from '../servers/free-port.ts'
import { programFile, whyNoPrograms } from '../servers/real/programs.ts'
import { planeSettings } from './control-planes.ts'
import { PlanePrograms } from './plane-programs.ts'
import { PodPrograms, type PodSpec } from './pod-programs.ts'

const HOST = '127.0.0.1'
const GRACE_MS = 15_000
const MEMBERS = [0, 1, 2] as const
const ETCDCTL = [join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'etcdctl'), '/usr/bin/etcdctl', '/usr/local/bin/etcdctl']
const run = promisify(execFile)

export function whyNoMembers(): string | undefined {
  return whyNoPrograms(['etcd']) ?? (ETCDCTL.some((file) => existsSync(file)) ? undefined : 'no etcdctl')
}

export class EtcdMembers {
  /** What the control plane knows of its etcd; members read it when they start. */
  isFounded = false
  startsEmpty = true
  readonly #plane: PlanePrograms
  readonly #ports: ReadonlyMap<string, number>
  readonly #running = new Map<number, PodPrograms>()
  #folders = 0

  private constructor(plane: PlanePrograms, ports: ReadonlyMap<string, number>) {
    this.#plane = plane
    this.#ports = ports
  }

  static async create(): Promise<EtcdMembers> {
    const ports = new Map<string, number>()
    for (const n of MEMBERS) for (const port of Object.values(ETCD)) ports.set(`etcd-${n}/${port}`, await freePort())
    return new EtcdMembers(await PlanePrograms.create(await freePort()), ports)
  }

  #objects(): readonly KubeObject[] {
    const settings = planeSettings()
    return controlPlaneObjects({
      ...settings,
      etcd: { ...settings.etcd, isFounded: this.isFounded, startsEmpty: this.startsEmpty },
    })
  }

  start(...members: readonly number[]): void {
    const objects = this.#objects()
    const set = objects.find((o) => o.kind === 'StatefulSet')?.['spec'] as { readonly template: { spec: PodSpec } }
    const namespace = planeSettings().namespace
    for (const n of members) {
      const name = `etcd-${n}`
      const secrets = ['etcd-server', 'etcd-peer'].map((of) => [of, join(this.#plane.folder, 'secrets', of)] as const)
      const pod = new PodPrograms(set.template.spec, {
        name,
        namespace,
        folder: join(this.#plane.folder, `pod-${this.#folders++}`),
        portOf: (of, port) => this.#ports.get(`${of}/${port}`) ?? port,
        volumes: { ...Object.fromEntries(secrets), data: this.#volume(n) },
        valueOf: async (configMap, key) => {
          const found = this.#objects().find((o) => o.kind === 'ConfigMap' && o.metadata.name === configMap)
          return (found?.['data'] as Readonly<Record<string, string>> | undefined)?.[key]
        },
        programOf: () => ({ file: programFile('etcd'), more: [] }),
      })
      this.#running.set(n, pod)
    }
  }

  async end(...members: readonly number[]): Promise<void> {
    await Promise.all(members.map(async (n) => this.#running.get(n)?.end(GRACE_MS)))
    for (const n of members) this.#running.delete(n)
  }

  /** The volume is lost. */
  empty(...members: readonly number[]): void {
    for (const n of members) rmSync(this.#volume(n), { recursive: true, force: true })
  }

  async ready(): Promise<readonly number[]> {
    const ready: number[] = []
    for (const [n, pod] of this.#running) if (await pod.isReady()) ready.push(n)
    return ready.toSorted((a, b) => a - b)
  }

  log = (member: number): string => this.#running.get(member)?.logOf('etcd') ?? ''

  /** Asks one member with its own certificate, as a person does in its pod. */
  async ask(member: number, ...words: readonly string[]): Promise<string> {
    const folder = join(this.#plane.folder, 'secrets', 'etcd-server')
    const files = ['cacert=ca.crt', 'cert=tls.crt', 'key=tls.key'].map((of) => `--${of.replace('=', `=${folder}/`)}`)
    const endpoint = `--endpoints=https://${HOST}:${this.#ports.get(`etcd-${member}/${ETCD.client}`)}`
    const file = ETCDCTL.find((of) => existsSync(of)) ?? 'etcdctl'
    const { stdout } = await run(file, [endpoint, ...files, ...words], { env: { ETCDCTL_API: '3' } })
    return stdout.trim()
  }

  peerUrl = (member: number): string => `https://${HOST}:${this.#ports.get(`etcd-${member}/${ETCD.peer}`)}`

  async close(): Promise<void> {
    await this.end(...this.#running.keys())
    await this.#plane.stop()
  }

  #volume = (member: number): string => join(this.#plane.folder, `volume-${member}`)
}
