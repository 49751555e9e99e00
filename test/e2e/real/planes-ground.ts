// A hub of three nodes, two of them systemd machines, with the rights and policies of KubeNode, images of the real programs of Kubernetes and a storage that all
// nodes reach; and one more machine, whose kubelet joins the cluster that is made here. The host of control planes is that of the program.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programUser } from '#api/names.ts'
import { hostsOf } from '#controlplanes/embedded/hosts.ts'
import { versionFile } from '#controlplanes/embedded/version-file.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { ControlPlane, ControlPlaneHost, ControlPlaneRequest } from '#controlplanes/port.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { NODE_NAME, startCluster, type RealCluster } from '#test/support/servers/real/cluster.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { listVersions } from '#test/support/worlds/shipped-hub.ts'
import { type Images, PLANE_VERSION, planeVersion, putImage, sharedVolumes, STORAGE_CLASS } from './hub-programs.ts'
import { KubeadmHost, prepareNetwork } from './kubeadm-host.ts'

/** A busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 600_000
const DAY_MS = 86_400_000
const BUSYBOX = '/bin/busybox'
const ID = 'fleet.one'
const OWNER = 'uid-one'
export const MEMBERS = 3

export interface PodSeen {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly spec: { readonly nodeName?: string }
  readonly status: { readonly phase: string }
}

export class PlanesGround {
  readonly #folder = mkdtempSync('/var/tmp/kn-planes-')
  readonly #volumes = mkdtempSync('/var/tmp/kn-volumes-')
  readonly cluster: RealCluster
  readonly kubectl: Kubectl
  /** Nodes of the hub. */
  readonly hosts: readonly KubeadmHost[]
  /** A node of the cluster that the hub makes. */
  readonly member: KubeadmHost
  readonly namespace = planeNamespace(ID)
  /** Images for pods of that cluster. */
  busybox = ''
  node = ''
  readonly #program: HttpKubeClient
  #host: ControlPlaneHost | undefined

  private constructor(cluster: RealCluster) {
    this.cluster = cluster
    this.kubectl = new Kubectl(cluster)
    prepareNetwork(cluster)
    const shared = [this.#volumes]
    this.hosts = ['worker-1', 'worker-2'].map(
      (name, i) => new KubeadmHost(cluster, name, i + 1, this.#folder, { shared }),
    )
    this.member = new KubeadmHost(cluster, 'member-1', 3, this.#folder, { isOfAnother: true })
    const { url, ca, cert, key } = cluster
    this.#program = new HttpKubeClient({
      server: url,
      ca: { data: ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
      impersonate: { user: programUser('cluster') },
    })
  }

  static async start(): Promise<PlanesGround> {
    const ground = new PlanesGround(await startCluster())
    try {
      await ground.#boot()
      await ground.settled('volumes', () => ground.kubectl.apply(sharedVolumes(ground.#volumes)))
      await ground.#openHost()
    } catch (e) {
      await ground.stop()
      throw e
    }
    return ground
  }

  async #boot(): Promise<void> {
    const pause = join(this.cluster.folder, `${NODE_NAME}/sleep`)
    for (const host of [...this.hosts, this.member]) await host.boot([pause])
    for (const { name } of this.hosts)
      await until(`node ${name}`, async () => ((await this.isReady(name)) ? true : undefined), PATIENCE_MS)
  }

  /** As `kubenode install` leaves a hub with the flavor. */
  async #openHost(): Promise<void> {
    const on: readonly Images[] = [{ ctr: this.cluster.node.ctr, scratch: this.#folder }, ...this.hosts]
    const version = await planeVersion(this.#folder, on)
    const onMember = { on: [this.member] }
    this.node = await putImage(this.#folder, { name: 'node', programs: [process.execPath], ...onMember })
    this.busybox = await putImage(this.#folder, { name: 'busybox', programs: [BUSYBOX], ...onMember })
    await installAll(this.cluster.admin)
    const versions = [version]
    await listVersions(this.cluster.admin, versions)
    const controlPlaneVersions = join(this.#folder, 'versions.json')
    writeFileSync(controlPlaneVersions, JSON.stringify({ versions, defaults: { storageClass: STORAGE_CLASS } }))
    const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)
    const context = { client: asLeader(this.#program), clock: systemClock, log: silentLogger, connect }
    const [host] = await hostsOf({ versions: versionFile(controlPlaneVersions) }, context)
    if (host === undefined) throw new Error('no host of control planes')
    this.#host = host
  }

  get host(): ControlPlaneHost {
    if (this.#host === undefined) throw new Error('it has not begun')
    return this.#host
  }

  /** As the controller of clusters asks for it, until it runs without any complaint. */
  async run(more: Partial<ControlPlaneRequest> = {}): Promise<ControlPlane> {
    const request: ControlPlaneRequest = {
      id: ID,
      owner: OWNER,
      version: PLANE_VERSION,
      shape: {
        replicas: 2,
        etcd: { members: MEMBERS, storage: '1Gi' },
        endpoint: { type: 'NodePort', host: this.cluster.host.address },
        network: { pods: '10.244.3.0/24', services: '10.97.0.0/16', domain: 'cluster.local' },
      },
      upgrade: { soakMs: 5_000, walksMinors: false },
      ...more,
    }
    let last = ''
    return this.settled(
      () => `a control plane that runs: ${last}`,
      async () => {
        const result = await this.host.put(request)
        if (result.kind === 'Refused') throw new Error(result.message)
        const { state, message, own } = result.plane
        last = `${state}: ${message ?? ''}`
        return state === 'Running' && message === undefined && own !== undefined ? result.plane : undefined
      },
    )
  }

  async snapshot(name: string): Promise<void> {
    await this.settled(`snapshot ${name}`, async () =>
      (await this.host.snapshot(ID, name)) === 'Gone' ? undefined : true,
    )
  }

  async delete(keep?: string): Promise<void> {
    const options = keep === undefined ? { owner: OWNER } : { owner: OWNER, keep }
    await this.settled('the deletion', async () => await this.host.delete(ID, options))
  }

  async isReady(name: string, kubectl = this.kubectl): Promise<boolean> {
    const path = '{.status.conditions[?(@.type=="Ready")].status}'
    return (await kubectl.run(`get node ${name} -o`, [`jsonpath=${path}`])).out === 'True'
  }

  /** Of the control plane. */
  async pods(part?: string): Promise<readonly PodSeen[]> {
    const only = part === undefined ? '' : ` -l app.kubernetes.io/component=${part}`
    const { items } = await this.kubectl.json<{ readonly items: readonly PodSeen[] }>(
      `get pods -n ${this.namespace}${only}`,
    )
    return items
  }

  /** How many pods of a part are ready. */
  async serving(part: string): Promise<number> {
    const path = '{.items[*].status.conditions[?(@.type=="Ready")].status}'
    const selector = `-l app.kubernetes.io/component=${part}`
    const { out } = await this.kubectl.run(`get pods -n ${this.namespace} ${selector} -o`, [`jsonpath=${path}`])
    return out.split(' ').filter((status) => status === 'True').length
  }

  /** As an administrator of the cluster that was made. */
  async admin() {
    const text = await this.host.kubeconfig(ID, { user: 'test', groups: ['system:masters'], lifeMs: DAY_MS })
    if (text === undefined) throw new Error('no control plane')
    const kubeconfig = join(this.#folder, 'one.kubeconfig')
    writeFileSync(kubeconfig, text, { mode: 0o600 })
    const { config } = parseSafeKubeconfig(text, ID)
    const pem = (source: unknown): string => (source as { readonly data: string }).data
    const { cert, key } = config.clientCertificate ?? {}
    const server = { url: config.server, ca: pem(config.ca), cert: pem(cert), key: pem(key), kubeconfig }
    const kubectl = new Kubectl({ ...server, stop: async () => undefined })
    return { ...server, kubectl, client: new HttpKubeClient(config) }
  }

  async settled<T>(what: string | (() => string), look: () => Promise<T | undefined>): Promise<T> {
    try {
      return await until('it', look, PATIENCE_MS)
    } catch (e) {
      const said = typeof what === 'string' ? what : what()
      throw new Error(`${said}: ${String(e)}\n${await this.#state()}`, { cause: e })
    }
  }

  async #state(): Promise<string> {
    const seen = await this.kubectl.run('get nodes,pods,pvc,jobs -A -o wide')
    const events = await this.kubectl.run(`get events -n ${this.namespace} --sort-by=.lastTimestamp`)
    const logs = await this.kubectl.run(`logs -n ${this.namespace} --prefix --tail=8 -l`, [
      'app.kubernetes.io/part-of=kubenode',
    ])
    return [seen.out, events.out.split('\n').slice(-25).join('\n'), logs.out].join('\n')
  }

  async stop(): Promise<void> {
    for (const host of [...this.hosts, this.member]) await host.remove()
    this.#program.close()
    await this.cluster.stop()
    for (const folder of [this.#folder, this.#volumes]) rmSync(folder, { recursive: true, force: true })
  }
}
