// A systemd machine of Debian with containerd and a real kubelet that joins a control plane on this host with a bootstrap token. It shares the network of this
// host, so its pods have that network too, and each machine has ports of its own.
import { copyFileSync, rmSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { importLayout } from '#test/support/servers/real/node.ts'
import { until } from '#test/support/tools/processes.ts'
import { HostMachine } from '../agent-host/machine.ts'
import { addPackages, CONTAINERD_CONFIG, KUBEADM_DROP_IN, KUBELET_CONFIG, KUBELET_UNIT } from './kubeadm-host.ts'
import { AUTHORITIES, type Door, doorFiles, kubeconfig, OWN } from './kubelet-door.ts'
import { KubeletGround } from './kubelet-ground.ts'

const UP_WITHIN_MS = 200_000
const KUBELET_PORT = 10_250
const HEALTH_PORT = 10_248

/** A kubelet takes no address of loopback. */
export const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flat()
    .find((i) => i !== undefined && i.family === 'IPv4' && !i.internal)?.address

export const whyNoAddress = (): string | undefined =>
  ownAddress() === undefined ? 'this host has no address but loopback' : undefined

/** Only so that the runtime takes its network for ready: pods have the network of the host. */
const NETWORK = {
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [{ type: 'bridge', bridge: 'cni0', ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.0.0/24' }]] } }],
}

export class PlaneNode {
  readonly name: string
  readonly machine: HostMachine
  readonly #ground: KubeletGround
  readonly #number: number

  /** `number`: no other machine has it. */
  constructor(name: string, number: number, folder: string) {
    this.name = name
    this.#number = number
    this.#ground = new KubeletGround(join(folder, name))
    this.machine = new HostMachine(this.#ground.binds, {
      name,
      onReboot: () => this.#ground.clearKernelLog(),
      writable: this.#ground.writable,
    })
  }

  async boot(kubelet: string, images: readonly string[]): Promise<void> {
    const { root } = this.machine
    addPackages(this.machine)
    this.#ground.layOut(root)
    this.#put('/etc/containerd/config.toml', CONTAINERD_CONFIG)
    this.#put('/etc/cni/net.d/10-pods.conflist', JSON.stringify(NETWORK))
    copyFileSync(kubelet, join(root, 'usr/bin/kubelet'))
    this.#put('/usr/lib/systemd/system/kubelet.service', KUBELET_UNIT)
    this.#put('/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf', KUBEADM_DROP_IN)
    const ports = { port: KUBELET_PORT + 20 * this.#number, healthzPort: HEALTH_PORT + 20 * this.#number }
    const config = JSON.stringify({ ...KUBELET_CONFIG, ...ports, rotateCertificates: true })
    this.#put('/var/lib/kubelet/config.yaml', config)
    const flags = `--node-ip=${ownAddress() ?? ''} --hostname-override=${this.name}`
    this.#put('/var/lib/kubelet/kubeadm-flags.env', `KUBELET_KUBEADM_ARGS="${flags}"\n`)
    await this.machine.boot()
    this.#ok('systemctl', 'enable', '--now', 'containerd')
    await until('containerd', () => (this.machine.run('ctr', 'version').code === 0 ? true : undefined), UP_WITHIN_MS)
    for (const layout of images) importLayout(this.#ctr, join(root, 'var/tmp'), layout)
  }

  /** The first time, and as the runbook has a kubelet ask for a certificate of a new authority. */
  join(door: Door): void {
    for (const [path, content] of Object.entries(doorFiles(door))) this.#put(path, content)
    for (const path of [OWN, '/var/lib/kubelet/pki'])
      this.#ok('sh', '-c', `if [ -e ${path} ]; then rm -rf ${path}.before && mv ${path} ${path}.before; fi`)
    this.#ok('systemctl', 'enable', 'kubelet')
    this.#ok('systemctl', 'restart', 'kubelet')
  }

  /** As the runbook has a kubelet trust a new authority; it keeps its certificate. */
  trust({ url, authorities }: Omit<Door, 'token'>): void {
    const own = '/var/lib/kubelet/pki/kubelet-client-current.pem'
    this.#put(AUTHORITIES, authorities)
    this.#put(OWN, kubeconfig(url, authorities, `client-certificate: ${own}`, `client-key: ${own}`))
    this.#ok('systemctl', 'restart', 'kubelet')
  }

  restartAgent(): void {
    this.#ok('systemctl', 'restart', 'kubenode-agent')
  }

  log(unit: string, lines = 30): string {
    return this.machine.run('journalctl', '-u', unit, '--no-pager', '-n', String(lines), '-o', 'cat').out
  }

  async remove(): Promise<void> {
    await this.machine.remove()
  }

  #put(path: string, content: string): void {
    const seen = path.startsWith('/var/lib/kubelet/') ? undefined : join(this.machine.root, path)
    if (seen !== undefined) rmSync(seen, { force: true })
    this.#ground.put(this.machine.root, path, content)
  }

  #ok(...command: readonly string[]): void {
    const { code, out } = this.machine.run(...command)
    if (code !== 0) throw new Error(`${command.join(' ')} on ${this.name}: ${out}`)
  }

  readonly #ctr = (...args: readonly string[]): string => {
    const { root } = this.machine
    const own = args.map((a) => (a.startsWith(root) ? a.slice(root.length) : a))
    const { code, out } = this.machine.run('ctr', '-n', 'k8s.io', ...own)
    if (code !== 0) throw new Error(out)
    return out
  }
}
