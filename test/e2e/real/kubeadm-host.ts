// A systemd machine of Debian on the network of a sealed host, with containerd, CNI and a real kubelet as kubeadm lays them out. Its kubelet joins the
// cluster by itself: nothing of KubeNode is on it.
import { execFileSync } from 'node:child_process'
import { appendFileSync, copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RealCluster } from '#test/support/servers/real/cluster.ts'
import { namesFrom } from '#test/support/servers/real/cluster-names.ts'
import { importLayout } from '#test/support/servers/real/node.ts'
import { PAUSE_IMAGE } from '#test/support/servers/real/pause-image.ts'
import { programFile } from '#test/support/servers/real/programs.ts'
import { until } from '#test/support/tools/processes.ts'
import { debFiles } from '../agent-host/debs.ts'
import { HostMachine } from '../agent-host/machine.ts'
import { addDownloaders } from './downloaders.ts'
import { type Door, doorFiles } from './kubelet-door.ts'
import { KubeletGround } from './kubelet-ground.ts'

const BRIDGE = 'nodes'
/** Within the network of the sealed host only, so that no other test can have them. */
const GATEWAY = '10.214.0.1'
const addressOf = (n: number): string => `10.214.0.${10 + n}`
const podRange = (n: number): string => `10.244.${n}.0/24`
const PACKAGES = ['containerd', 'runc', 'containernetworking-plugins'] as const
const UP_WITHIN_MS = 200_000

/** Makes the bridge that hosts hang on. */
export function prepareNetwork({ host }: RealCluster): void {
  const ip = (...args: readonly string[]) => host.run('ip', args)
  ip('link', 'add', BRIDGE, 'type', 'bridge')
  ip('address', 'add', `${GATEWAY}/24`, 'dev', BRIDGE)
  ip('link', 'set', BRIDGE, 'up')
}

/** The oldest of each that Debian has; undefined where they cannot be fetched. */
const packageFiles = (): readonly string[] => PACKAGES.flatMap((name) => debFiles('bookworm', name).slice(0, 1))

/** Undefined where Debian's packages can be fetched. */
export const whyNoPackages = (): string | undefined =>
  packageFiles().length < PACKAGES.length ? 'Debian’s packages cannot be fetched' : undefined

const networkOf = (n: number): string => `ip address add ${addressOf(n)}/24 dev host0
ip link set host0 up
ip route add default via ${GATEWAY}
echo 1 > /proc/sys/net/ipv4/ip_forward
`

/** As the packages of Kubernetes have it, and beside it what kubeadm writes. */
export const KUBELET_UNIT = `[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`
export const KUBEADM_DROP_IN = `# Note: This dropin only works with kubeadm and kubelet v1.11+
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`

/** Of Debian, with the image of the sandbox, and without the right to a negative oom_score_adj. */
export const CONTAINERD_CONFIG = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${JSON.stringify(PAUSE_IMAGE)}
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`

export const KUBELET_CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
  },
  authorization: { mode: 'Webhook' },
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  // A full disk of the machine that tests is no matter of the tests.
  evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
  nodeStatusUpdateFrequency: '5s',
}

const bridgeOf = (n: number) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: podRange(n) }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
})

/** A runtime, and what a host downloads with. */
export function addPackages({ root, folder }: HostMachine): void {
  const unpacked = join(folder, 'unpacked')
  for (const file of packageFiles()) execFileSync('dpkg-deb', ['-x', file, unpacked])
  for (const [from, to] of Object.entries({ usr: 'usr', etc: 'etc', lib: 'usr/lib' }))
    if (existsSync(join(unpacked, from))) cpSync(join(unpacked, from), join(root, to), { recursive: true })
  rmSync(unpacked, { recursive: true })
  if (!addDownloaders(root)) throw new Error('Debian’s packages cannot be fetched')
}

interface KubeadmOptions {
  /** Folders of this host that it has at the same path, as machines have storage of a network. */
  readonly shared?: readonly string[]
  /** Its kubelet waits until it joins another cluster, and its pods ask for names on the machine itself. */
  readonly isOfAnother?: boolean
  /** It has a runtime, and no kubelet yet: one comes by a commit, and its settings are there. */
  readonly lacksKubelet?: boolean
}

export class KubeadmHost {
  readonly name: string
  readonly machine: HostMachine
  readonly #number: number
  readonly #cluster: RealCluster

  readonly #isOfAnother: boolean
  readonly #lacksKubelet: boolean

  /** `number`: the first is 1. */
  constructor(
    cluster: RealCluster,
    name: string,
    number: number,
    folder: string,
    { shared = [], isOfAnother = false, lacksKubelet = false }: KubeadmOptions = {},
  ) {
    this.name = name
    this.#number = number
    this.#cluster = cluster
    this.#isOfAnother = isOfAnother
    this.#lacksKubelet = lacksKubelet
    this.#ground = new KubeletGround(join(folder, name))
    this.machine = new HostMachine(this.#ground.binds, {
      name,
      onReboot: () => this.#ground.clearKernelLog(),
      network: { namespace: cluster.host.network, bridge: BRIDGE },
      writable: [...this.#ground.writable, ...shared.map((path) => `${path}:${path}`)],
    })
  }

  readonly #ground: KubeletGround

  get address(): string {
    return addressOf(this.#number)
  }

  async boot(images: readonly string[]): Promise<void> {
    await this.#layOut()
    await this.machine.boot()
    const { pods, host } = { pods: podRange(this.#number), host: this.#cluster.host }
    host.run('ip', ['route', 'replace', pods, 'via', addressOf(this.#number)])
    this.systemctl('enable', '--now', 'containerd')
    await until('containerd', () => (this.machine.run('ctr', 'version').code === 0 ? true : undefined), UP_WITHIN_MS)
    for (const layout of images) importLayout(this.ctr, this.scratch, layout)
    if (!this.#isOfAnother) this.systemctl('enable', '--now', 'kubelet')
  }

  /** As `kubeadm join` does. */
  join(door: Door): void {
    this.prepare(door)
    this.systemctl('enable', '--now', 'kubelet')
  }

  /** What its kubelet needs to join. */
  prepare(door: Door): void {
    for (const [path, content] of Object.entries(doorFiles(door))) this.put(path, content)
  }

  get scratch(): string {
    return join(this.machine.root, 'var/tmp')
  }

  /** Asks its containerd; a file of `scratch` has the same place for it. */
  readonly ctr = (...args: readonly string[]): string => {
    const own = args.map((a) => (a.startsWith(this.machine.root) ? a.slice(this.machine.root.length) : a))
    const { code, out } = this.machine.run('ctr', '-n', 'k8s.io', ...own)
    if (code !== 0) throw new Error(out)
    return out
  }

  systemctl(...args: readonly string[]): string {
    return this.machine.run('systemctl', ...args).out.trim()
  }

  pidOf(unit: string): string {
    return this.systemctl('show', '-p', 'MainPID', '--value', unit)
  }

  unitStates(): readonly string[] {
    const seen = 'ActiveState,UnitFileState,FragmentPath,DropInPaths'
    return ['kubelet', 'containerd'].map((u) => this.systemctl('show', '-p', seen, u))
  }

  /** Everything that a hand-back has to leave as it was. */
  tree(): ReadonlyMap<string, string> {
    return this.#ground.tree(this.machine.leader())
  }

  log(unit: string, lines = 40): string {
    return this.machine.run('journalctl', '-u', unit, '--no-pager', '-n', String(lines), '-o', 'cat').out
  }

  /** A line that the kernel of this host alone writes. */
  kernelSays(message: string): void {
    const sequence = (this.#said += 1)
    const micros = Math.round(performance.now() * 1_000)
    appendFileSync(this.#ground.kernelLog, `3,${sequence},${micros},-;${message}\n`)
  }
  #said = 0

  put(path: string, content: string, mode = 0o644, gid = 0): void {
    this.#ground.put(this.machine.root, path, content, mode, gid)
  }

  async #layOut(): Promise<void> {
    const { root } = this.machine
    addPackages(this.machine)
    this.#ground.layOut(root, networkOf(this.#number))
    this.put('/etc/containerd/config.toml', CONTAINERD_CONFIG)
    this.put('/etc/cni/net.d/10-pods.conflist', JSON.stringify(bridgeOf(this.#number)))
    if (!this.#lacksKubelet) {
      copyFileSync(programFile('kubelet'), join(root, 'usr/bin/kubelet'))
      this.put('/usr/lib/systemd/system/kubelet.service', KUBELET_UNIT)
      this.put('/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf', KUBEADM_DROP_IN)
      this.put('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=\n')
    }
    const names = this.#isOfAnother
      ? { clusterDNS: [this.address], clusterDomain: 'cluster.local' }
      : namesFrom(this.#cluster.host)
    this.put('/var/lib/kubelet/config.yaml', JSON.stringify({ ...KUBELET_CONFIG, ...names }), 0o640, 4)
    const flags = `--node-ip=${addressOf(this.#number)} --hostname-override=${this.name}`
    this.put('/var/lib/kubelet/kubeadm-flags.env', `KUBELET_KUBEADM_ARGS="${flags}"\n`)
    if (this.#isOfAnother) return
    const { pki } = this.#cluster
    mkdirSync(join(root, 'etc/kubernetes/pki'), { recursive: true })
    copyFileSync(pki.file('ca.crt'), join(root, 'etc/kubernetes/pki/ca.crt'))
    const own = await pki.kubeconfig(`node-${this.name}`, `system:node:${this.name}`, ['system:nodes'])
    copyFileSync(own, join(root, 'etc/kubernetes/kubelet.conf'))
  }

  remove(): Promise<void> {
    return this.machine.remove()
  }
}
