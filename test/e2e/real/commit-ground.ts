// An installed hub of three nodes that follows git, two of them systemd machines, and two hosts without a kubelet, which wait for a cluster. All of KubeNode runs as
// pods, control planes as well, and hosts of clusters download from the hub.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { NODE_NAME } from '#test/support/servers/real/cluster.ts'
import { programFile } from '#test/support/servers/real/programs.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { CLUSTER, clusterSpec, commitFleet, type Wanted, wantedFile } from './commit-fleet.ts'
import { TRACKS } from './fleet-files.ts'
import { type Images, PLANE_VERSION, planeVersion, putImage, sharedVolumes, STORAGE_CLASS } from './hub-programs.ts'
import { Installation } from './installation.ts'
import { KubeadmHost, prepareNetwork } from './kubeadm-host.ts'

/** A busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 600_000
const ROOT = join(import.meta.dirname, '../../..')
const BUSYBOX = '/bin/busybox'
/** A host is named as its Node. */
const KUBELET_ARGS =
  '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml'

export interface PodSeen {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly spec: { readonly nodeName?: string }
}

/** A cluster that the hub made, as its administrator. */
export interface Made {
  readonly url: string
  readonly ca: string
  readonly kubeconfig: string
  readonly kubectl: Kubectl
  readonly client: HttpKubeClient
}

export class CommitGround {
  readonly #folder = mkdtempSync('/var/tmp/kn-commit-')
  readonly #volumes = mkdtempSync('/var/tmp/kn-volumes-')
  readonly installation: Installation
  /** Nodes of the hub, beside the one that runs KubeNode. */
  readonly hosts: readonly KubeadmHost[]
  readonly members: readonly KubeadmHost[]
  readonly namespace = planeNamespace(`kubenode-system.${CLUSTER}`)
  /** What the hosts run, and the next one. */
  kubelets: readonly [string, string] = ['', '']
  /** An image for pods of the cluster. */
  busybox = ''
  #made: Made | undefined

  private constructor(installation: Installation) {
    this.installation = installation
    const { cluster } = installation
    prepareNetwork(cluster)
    const machines = (names: readonly string[], first: number, options: ConstructorParameters<typeof KubeadmHost>[4]) =>
      names.map((name, i) => new KubeadmHost(cluster, name, first + i, this.#folder, options))
    this.hosts = machines(['worker-1', 'worker-2'], 1, { shared: [this.#volumes] })
    this.members = machines(['member-1', 'member-2'], 3, { isOfAnother: true, lacksKubelet: true })
  }

  static async start(): Promise<CommitGround> {
    const ground = new CommitGround(await Installation.start())
    try {
      await ground.#boot()
      await ground.#makeKubelets()
    } catch (e) {
      await ground.stop()
      throw e
    }
    return ground
  }

  get kubectl(): Kubectl {
    return this.installation.kubectl
  }

  async #boot(): Promise<void> {
    const pause = join(this.installation.cluster.folder, `${NODE_NAME}/sleep`)
    for (const host of [...this.hosts, ...this.members]) await host.boot([pause])
    for (const { name } of this.hosts)
      await this.settled(`node ${name}`, async () => ((await this.isReady(name)) ? true : undefined))
    // As docs/operations/control-planes.md has it for a hub without zones.
    await this.kubectl.ok('label nodes --all topology.kubernetes.io/zone=one')
    await this.settled('volumes', () => this.kubectl.apply(sharedVolumes(this.#volumes)))
    this.busybox = await putImage(this.#folder, { name: 'busybox', programs: [BUSYBOX], on: this.members })
  }

  /** One binary is at hand: the second version has another file beside it. */
  async #makeKubelets(): Promise<void> {
    const { served } = this.installation
    mkdirSync(served, { recursive: true })
    const key = join(this.#folder, 'signing.pem')
    const kubenode = (...args: readonly string[]) => this.installation.kubenode('artifact', ...args)
    await kubenode('keys', 'new', '-f', key)
    await kubenode('keys', 'trust', '-f', this.#trust, '--sign-with', key, '--expires', '2036-01-01T00:00:00Z')
    const kubelet = programFile('kubelet')
    const [, number = ''] = /v(\d+\.\d+\.\d+)/.exec(execFileSync(kubelet, ['--version'], { encoding: 'utf8' })) ?? []
    const made = async (version: string, args: string): Promise<string> => {
      const file = join(this.#folder, `default-${version}`)
      writeFileSync(file, `KUBELET_EXTRA_ARGS="${KUBELET_ARGS}${args}"\n`)
      const places = ['--statements', this.#statements, '--artifacts', served, '--key', key, '-o', 'json']
      const recipe = ['--recipe', 'kubelet', '--as', version, '--file', `${file}=/etc/default/kubelet`]
      const text = await kubenode('from-tar', kubelet, ...recipe, ...places)
      return /"version": "([^"]+)"/.exec(text)?.[1] ?? ''
    }
    this.kubelets = [await made(number, ''), await made(`${number}+second`, ' --v=1')]
  }

  get #statements(): string {
    return join(this.#folder, 'statements')
  }

  get #trust(): string {
    return join(this.#folder, 'trust.json')
  }

  /** In one run, as the docs have it. */
  async install(): Promise<string> {
    const { installation } = this
    const said = await installation.kubenode('agent', 'bundle', '--out', installation.served)
    const [joinScript = ''] = /[0-9a-f]{64}/.exec(said.split('\n').find((line) => /join\.sh/.test(line)) ?? '') ?? []
    const image = await installation.image('now')
    const on: readonly Images[] = [{ ctr: installation.cluster.node.ctr, scratch: this.#folder }, ...this.hosts]
    const versions = [await planeVersion(this.#folder, on)]
    const more = {
      replicas: 1,
      controlPlanes: { kubernetes: { versions, storageClass: STORAGE_CLASS } },
      clusterPrograms: {},
    }
    const values = installation.valuesFor(image, { joinScript, trust: this.#trust, more })
    await installation.volume()
    await installation.kubenode('check', '--pre', '--values', values)
    return installation.kubenode('install', '--values', values, '--yes', '--timeout', '8m')
  }

  async followGit(): Promise<void> {
    const { repository } = this.installation
    repository.commit(commitFleet(repository.dir, this.#statements), 'the fleet')
    await this.installation.connectFleet(TRACKS)
  }

  /** Its commit. */
  commit(wanted: Wanted, message: string): string {
    return this.installation.repository.commit(wantedFile(wanted), message)
  }

  get cluster(): object {
    return clusterSpec(PLANE_VERSION, this.installation.cluster.host.address)
  }

  /** Status of the Cluster. */
  async status<T>(path: string): Promise<T | undefined> {
    const { code, out } = await this.kubectl.run(`get cluster.kubenode.io ${CLUSTER} -n kubenode-system -o json`)
    const object = code === 0 ? (JSON.parse(out) as { readonly status?: Readonly<Record<string, T>> }) : undefined
    return object?.status?.[path]
  }

  /** As people reach a cluster that the hub made. */
  async made(): Promise<Made> {
    if (this.#made !== undefined) return this.#made
    const { out } = await this.installation.run(ROOT, 'cluster', 'kubeconfig', CLUSTER, '--admin')
    const kubeconfig = join(this.#folder, 'one/kubeconfig')
    mkdirSync(join(this.#folder, 'one'), { recursive: true })
    writeFileSync(kubeconfig, out, { mode: 0o600 })
    const { config } = parseSafeKubeconfig(out, CLUSTER)
    const pem = (source: unknown): string => (source as { readonly data: string }).data
    const { cert, key } = config.clientCertificate ?? {}
    const server = { url: config.server, ca: pem(config.ca), cert: pem(cert), key: pem(key), kubeconfig }
    const kubectl = new Kubectl({ ...server, stop: async () => undefined })
    return (this.#made = { ...server, kubectl, client: new HttpKubeClient(config) })
  }

  /** `kubenode` on the cluster that the hub made. */
  async inside(...args: readonly string[]) {
    const { kubeconfig } = await this.made()
    return this.installation.run(ROOT, ...args, '--kubeconfig', kubeconfig)
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

  async settled<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    try {
      return await until(what, look, PATIENCE_MS)
    } catch (e) {
      throw new Error(`${String(e)}\n${await this.#state()}`, { cause: e })
    }
  }

  async #state(): Promise<string> {
    const kinds = 'nodes,pods,releases,clusters.kubenode.io,machines.kubenode.io,operationpermits,remedyoperationjobs'
    const hub = await this.kubectl.run(`get ${kinds} -A -o wide`)
    const events = await this.kubectl.run(`get events -A --sort-by=.lastTimestamp`)
    const why = await this.installation.run(ROOT, 'why', `cluster/${CLUSTER}`, '-n', 'kubenode-system')
    const logs = await this.kubectl.run('logs -n kubenode-system --prefix --tail=6 -l', [
      'app.kubernetes.io/name=kubenode',
    ])
    const inside =
      this.#made === undefined
        ? []
        : [(await this.#made.kubectl.run(`get ${kinds},machinecomponentsets -A -o wide`)).out]
    const hosts = this.members.map((h) => `--- ${h.name}\n${h.log('kubenode-agent', 15)}\n${h.log('kubelet', 8)}`)
    return [hub.out, events.out.split('\n').slice(-25).join('\n'), why.text, logs.out, ...inside, ...hosts].join('\n')
  }

  async stop(): Promise<void> {
    this.#made?.client.close()
    for (const host of [...this.hosts, ...this.members]) await host.remove()
    await this.installation.stop()
    for (const folder of [this.#folder, this.#volumes]) rmSync(folder, { recursive: true, force: true })
  }
}
