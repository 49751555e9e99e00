// Two nodes that kubeadm made, in a real cluster with KubeNode as it is installed: the programs as pods, components made by `kubenode artifact` and signed with a
// key of one's own, a fleet in git, and a pod of a user that answers over HTTP.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programLayout } from '#test/support/servers/real/pause-image.ts'
import { programFile } from '#test/support/servers/real/programs.ts'
import { until } from '#test/support/tools/processes.ts'
import { debFiles } from '../agent-host/debs.ts'
import { Installation } from './installation.ts'
import { CONTAINERD_CONFIG, KubeadmHost, prepareNetwork } from './kubeadm-host.ts'
import { nodeFleet, wantedFile, type Wanted } from './node-fleet.ts'
import { TRACKS } from './fleet-files.ts'

const WEB = '/bin/busybox'
const WEB_IMAGE = 'kubenode.test/web:1'
const WEB_PORT = 8080
/** A busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 400_000

export const POOL_LABEL = 'alibabacloud.com/nodepool-id=hosts'

export const whyNoWeb = (): string | undefined =>
  existsSync(WEB) ? undefined : `${WEB} not found (apt-get install busybox-static)`

export interface Versions {
  /** What runs on the nodes before, another one, and one that exits at once. */
  readonly kubelet: readonly [own: string, next: string, broken: string]
  readonly containerd: readonly [own: string, next: string, broken: string]
}

export interface Permit {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly disruption: string; readonly targets: readonly { readonly name: string }[] }
  readonly status?: { readonly phase?: string }
}

interface Component {
  readonly name: string
  readonly version?: string
  readonly state: string
}

export interface MachineSeen {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: {
    readonly phase?: string
    readonly bootID?: string
    readonly agent?: object
    readonly components?: readonly Component[]
  }
}

export interface Job {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly machine: string }
  readonly status?: {
    readonly phase?: string
    readonly outcome?: string
    readonly steps?: readonly { readonly operation: string; readonly outcome?: string }[]
  }
}

/** What KubeNode writes into Nodes that it manages. */
export interface NodeSeen {
  readonly labels: object
  readonly annotations: object
  readonly taints: readonly object[]
  readonly conditions: readonly string[]
}

export interface WebPod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName: string }
  readonly status: {
    readonly podIP: string
    readonly phase: string
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly containerID: string }[]
  }
}

export class NodeWorld {
  readonly #folder = mkdtempSync('/var/tmp/kn-real-nodes-')
  readonly installation: Installation
  readonly hosts: readonly KubeadmHost[]
  versions: Versions = { kubelet: ['', '', ''], containerd: ['', '', ''] }

  private constructor(installation: Installation) {
    this.installation = installation
    prepareNetwork(installation.cluster)
    this.hosts = ['worker-1', 'worker-2'].map(
      (name, i) => new KubeadmHost(installation.cluster, name, i + 1, this.#folder),
    )
  }

  static async start(): Promise<NodeWorld> {
    const world = new NodeWorld(await Installation.start())
    try {
      await world.#boot()
      await world.#makeComponents()
    } catch (e) {
      await world.stop()
      throw e
    }
    return world
  }

  async #boot(): Promise<void> {
    const web = await programLayout(this.#folder, {
      name: WEB_IMAGE,
      program: WEB,
      args: ['httpd', '-f', '-p', String(WEB_PORT), '-h', '/'],
    })
    const pause = join(this.installation.cluster.folder, 'real-1/sleep')
    for (const host of this.hosts) await host.boot([pause, web])
    for (const { name } of this.hosts) {
      await this.#nodeReady(name)
      await this.kubectl.ok(`label node ${name} ${POOL_LABEL} topology.kubernetes.io/zone=a`)
    }
  }

  get kubectl() {
    return this.installation.kubectl
  }

  async #nodeReady(name: string): Promise<void> {
    const look = async () => ((await this.isReady(name)) ? true : undefined)
    await until(`node ${name}`, look, PATIENCE_MS).catch((e: unknown) => {
      throw new Error(this.host(name).log('kubelet'), { cause: e })
    })
  }

  async isReady(name: string): Promise<boolean> {
    const path = '{.status.conditions[?(@.type=="Ready")].status}'
    return (await this.kubectl.run(`get node ${name} -o`, [`jsonpath=${path}`])).out === 'True'
  }

  host(name: string): KubeadmHost {
    const found = this.hosts.find((h) => h.name === name)
    if (found === undefined) throw new Error(`no host ${name}`)
    return found
  }

  /** As docs/tasks/own-component.md has it, with a key and a trust document of one's own. */
  async #makeComponents(): Promise<void> {
    const { served } = this.installation
    mkdirSync(served, { recursive: true })
    const key = join(this.#folder, 'signing.pem')
    const own = (name: string, text: string): string => {
      const path = join(this.#folder, name)
      writeFileSync(path, text)
      return path
    }
    const kubenode = (...args: readonly string[]) => this.installation.kubenode('artifact', ...args)
    await kubenode('keys', 'new', '-f', key)
    await kubenode('keys', 'trust', '-f', this.#trust, '--sign-with', key, '--expires', '2036-01-01T00:00:00Z')
    const places = ['--statements', this.#statements, '--artifacts', served, '--key', key, '-o', 'json']
    const made = async (...args: readonly string[]): Promise<string> => {
      const text = await kubenode(...args, ...places)
      const [, version = ''] = /"version": "([^"]+)"/.exec(text) ?? []
      return version
    }
    const kubelet = programFile('kubelet')
    const config = `${own('config.toml', `${CONTAINERD_CONFIG}# declared in git\n`)}=/etc/containerd/config.toml`
    const [old = '', young = old] = debFiles('bookworm', 'containerd').slice(-2)
    const runtime = ['--recipe', 'containerd', '--file', config]
    const unreadable = `${own('unreadable.toml', 'version = 2\nroot = 2\n')}=/etc/containerd/config.toml`
    const [, number = ''] = /v(\d+\.\d+\.\d+)/.exec(execFileSync(kubelet, ['--version'], { encoding: 'utf8' })) ?? []
    const settings = `${own('default', 'KUBELET_EXTRA_ARGS=--v=1\n')}=/etc/default/kubelet`
    mkdirSync(join(this.#folder, 'broken'))
    writeFileSync(join(this.#folder, 'broken/kubelet'), '#!/bin/sh\necho "unknown flag" >&2\nexit 1\n', { mode: 0o755 })
    const exits = join(this.#folder, 'exits.tar')
    execFileSync('tar', ['-C', join(this.#folder, 'broken'), '-cf', exits, 'kubelet'])
    const recipe = ['--recipe', 'kubelet', '--as']
    this.versions = {
      // One binary is at hand: the second version has another file beside it.
      kubelet: [
        await made('from-tar', kubelet, ...recipe, number),
        await made('from-tar', kubelet, ...recipe, `${number}+second`, '--file', settings),
        await made('from-tar', exits, ...recipe, `${number}+broken`),
      ],
      containerd: [
        await made('from-deb', old, ...runtime),
        young === old
          ? await made('from-deb', old, ...runtime, '--as', '1.6.20+again')
          : await made('from-deb', young, ...runtime),
        await made('from-deb', old, '--recipe', 'containerd', '--file', unreadable, '--as', '1.6.20+unreadable'),
      ],
    }
  }

  get #statements(): string {
    return join(this.#folder, 'statements')
  }

  get #trust(): string {
    return join(this.#folder, 'trust.json')
  }

  /** The settings of docs/tasks/first-node.md. */
  async values(): Promise<string> {
    const { installation } = this
    const said = await installation.kubenode('agent', 'bundle', '--out', installation.served)
    const [joinScript = ''] = /[0-9a-f]{64}/.exec(said.split('\n').find((line) => /join\.sh/.test(line)) ?? '') ?? []
    // Pods that render are not bound to the node of the programs.
    const image = await installation.image('now', undefined, this.hosts)
    return installation.valuesFor(image, { joinScript, trust: this.#trust })
  }

  async followGit(components: readonly Wanted[]): Promise<void> {
    const { repository } = this.installation
    repository.commit(nodeFleet(repository.dir, this.#statements, components), 'the fleet')
    await this.installation.connectFleet(TRACKS)
  }

  commit(components: readonly Wanted[], message: string): void {
    this.installation.repository.commit(wantedFile(components), message)
  }

  machine(name: string): Promise<MachineSeen> {
    return this.kubectl.json<MachineSeen>(`get machines.kubenode.io ${name}`)
  }

  async component(machine: string, name: string): Promise<Component | undefined> {
    return (await this.machine(machine)).status?.components?.find((c) => c.name === name)
  }

  /** All hosts run this version, and it is healthy. */
  async running(component: string, version: string): Promise<void> {
    for (const { name } of this.hosts)
      await this.settled(`${component} ${version} on ${name}`, async () => {
        const seen = await this.component(name, component)
        return seen?.version === version && seen.state === 'Healthy' ? true : undefined
      })
  }

  async settled<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    try {
      return await until(what, look, PATIENCE_MS)
    } catch (e) {
      const why = await this.installation.run('.', 'why', 'set/nodes')
      const logs = this.hosts.map((h) => `--- ${h.name}\n${h.log('kubenode-agent', 30)}`)
      throw new Error([String(e), why.text, await this.#state(), ...logs].join('\n'), { cause: e })
    }
  }

  async #state(): Promise<string> {
    const kinds = 'machines.kubenode.io,machinecomponentsets,operationpermits,remedyoperationjobs,releases,nodes,pods'
    const { out } = await this.kubectl.run(`get ${kinds} -A -o wide`)
    return out
  }

  async startWeb(): Promise<WebPod> {
    const labels = { app: 'web' }
    const container = { name: 'web', image: WEB_IMAGE, imagePullPolicy: 'IfNotPresent' }
    const [key = '', value = ''] = POOL_LABEL.split('=')
    const spec = {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { nodeSelector: { [key]: value }, terminationGracePeriodSeconds: 1, containers: [container] },
      },
    }
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }
    await this.settled('the Deployment of the user', () => this.kubectl.apply([deployment], '-n default'))
    return this.settled('the pod of the user', () => this.web())
  }

  /** The running pod; undefined while there is none. */
  async web(): Promise<WebPod | undefined> {
    const { items } = await this.kubectl.json<{ readonly items: readonly WebPod[] }>('get pods -n default -l app=web')
    return items.find(
      (p) => p.status.phase === 'Running' && p.metadata.deletionTimestamp === undefined && p.status.podIP !== undefined,
    )
  }

  webUrl({ status }: WebPod): string {
    return `http://${status.podIP}:${WEB_PORT}/etc/hostname`
  }

  async node(name: string): Promise<NodeSeen> {
    const { metadata, spec, status } = await this.kubectl.json<{
      readonly metadata: Pick<NodeSeen, 'labels' | 'annotations'>
      readonly spec: { readonly taints?: readonly object[] }
      readonly status: { readonly conditions: readonly { readonly type: string }[] }
    }>(`get node ${name}`)
    const { labels, annotations } = metadata
    return { labels, annotations, taints: spec.taints ?? [], conditions: status.conditions.map((c) => c.type).sort() }
  }

  /** A revision of the component is blocked: it failed. */
  async blocked(component: string): Promise<void> {
    const path = 'jsonpath={.status.revisions.blocked}'
    await this.settled(`a failed ${component}`, async () => {
      const { out } = await this.kubectl.run('get machinecomponentset nodes -o', [path])
      return out.includes(component) ? true : undefined
    })
  }

  permits(): Promise<readonly Permit[]> {
    return this.kubectl.json<{ readonly items: readonly Permit[] }>('get operationpermits').then(({ items }) => items)
  }

  async condition(node: string, type: string): Promise<string> {
    const path = `jsonpath={.status.conditions[?(@.type=="${type}")].status}`
    return (await this.kubectl.run(`get node ${node} -o`, [path])).out
  }

  async jobs(): Promise<readonly Job[]> {
    return (await this.kubectl.json<{ readonly items: readonly Job[] }>('get remedyoperationjobs')).items
  }

  async stop(): Promise<void> {
    for (const host of this.hosts) await host.remove()
    await this.installation.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
