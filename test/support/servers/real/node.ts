// A real node on a sealed host: containerd with pods on a bridge, and the kubelet. With cgroups of version 1 or 2, and without the right to a negative oom_score_adj.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '#test/support/tools/processes.ts'
import type { ControlPlane } from './control-plane.ts'
import { Programs, untilUp } from './place.ts'
import { PAUSE_IMAGE, pauseLayout } from './pause-image.ts'
import { namesFrom } from './cluster-names.ts'
import { programFile, whyNoPrograms } from './programs.ts'
import { whyNoSealedHost, type SealedHost } from './sealed-host.ts'

const POD_RANGE = '10.244.0.0/24'
const [CONTAINERD, CTR, RUNC, CNI] = ['/usr/bin/containerd', '/usr/bin/ctr', '/usr/sbin/runc', '/usr/lib/cni'] as const
const CNI_PLUGINS = ['bridge', 'host-local', 'loopback'].map((name) => join(CNI, name))
const CGROUPS = '/sys/fs/cgroup'
const CONTAINERD_WITHIN_MS = 200_000
const CGROUPS_WITHIN_MS = 120_000

export interface RealNode {
  readonly name: string
  /** Asks its containerd. */
  readonly ctr: (...args: readonly string[]) => string
  /** The end of a log. */
  tail(program: 'containerd' | 'kubelet'): string
  stop(): Promise<void>
}

/** Undefined where a whole cluster can be started; else why it cannot. */
export function whyNoNode(): string | undefined {
  const why = whyNoSealedHost() ?? whyNoPrograms(['kubelet'])
  if (why !== undefined) return why
  const missing = [CONTAINERD, CTR, RUNC, ...CNI_PLUGINS].filter((file) => !existsSync(file))
  if (missing.length > 0)
    return `${missing.join(', ')} not found (apt-get install containerd containernetworking-plugins)`
  return cgroupFolders('x').length === 0 ? 'no cgroups are mounted in /sys/fs/cgroup' : undefined
}

export async function startNode(host: SealedHost, { folder, pki }: ControlPlane, name: string): Promise<RealNode> {
  const home = join(folder, name)
  for (const part of ['cni', 'pods', 'kubelet', 'plugins', 'state']) mkdirSync(join(home, part), { recursive: true })
  const programs = new Programs(host, home)
  const socket = join(home, 'containerd.sock')
  const group = `kubenode-${process.pid}-${name}`
  const ctr = (...args: readonly string[]): string =>
    host.run(CTR, ['--address', socket, '--namespace', 'k8s.io', ...args])
  const stop = async () => {
    await host.stop()
    await programs.stop(0)
    // Processes of a namespace that was killed need a moment to end.
    await until('the cgroups are empty', () => removedCgroups(group), CGROUPS_WITHIN_MS)
  }
  try {
    writeFileSync(join(home, 'cni/10-bridge.conflist'), bridge(join(home, 'addresses')))
    writeFileSync(join(home, 'containerd.toml'), containerdConfig(home, socket))
    programs.start('containerd', CONTAINERD, ['--config', join(home, 'containerd.toml')])
    await untilUp(programs, 'containerd', CONTAINERD_WITHIN_MS, async () => (ctr('version') === '' ? undefined : true))
    importLayout(ctr, home, await pauseLayout(home))
    for (const folderOf of cgroupFolders(group)) mkdirSync(folderOf, { recursive: true })
    const serving = await pki.ca.server([host.address, name])
    pki.write(`kubelet-${name}`, serving)
    writeFileSync(join(home, 'kubelet.json'), JSON.stringify(kubeletConfig(home, socket, group, { name, pki, host })))
    writeFileSync(join(home, 'resolv.conf'), '')
    programs.start('kubelet', programFile('kubelet'), [
      `--config=${join(home, 'kubelet.json')}`,
      `--kubeconfig=${await pki.kubeconfig(`node-${name}`, `system:node:${name}`, ['system:nodes'])}`,
      `--hostname-override=${name}`,
      `--node-ip=${host.address}`,
      `--root-dir=${join(home, 'kubelet')}`,
      `--cert-dir=${join(home, 'kubelet')}`,
    ])
    return { name, ctr, tail: (program) => programs.tail(program), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

export function importLayout(ctr: RealNode['ctr'], scratch: string, layout: string): void {
  const archive = join(scratch, 'image.tar')
  execFileSync('tar', ['-C', layout, '-cf', archive, '.'])
  ctr('images', 'import', '--all-platforms', archive)
}

const bridge = (addresses: string): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'pods',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: addresses,
          ranges: [[{ subnet: POD_RANGE }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  })

/** Ports below 1024 need no right, as is the default of containerd 2. */
const containerdConfig = (home: string, socket: string): string => `version = 2
root = ${JSON.stringify(join(home, 'root'))}
state = ${JSON.stringify(join(home, 'state'))}
[grpc]
address = ${JSON.stringify(socket)}
[ttrpc]
address = ${JSON.stringify(`${socket}.ttrpc`)}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ${JSON.stringify(PAUSE_IMAGE)}
restrict_oom_score_adj = true
enable_unprivileged_ports = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ${JSON.stringify(CNI)}
conf_dir = ${JSON.stringify(join(home, 'cni'))}
`

const kubeletConfig = (
  home: string,
  socket: string,
  group: string,
  { name, pki, host }: { readonly name: string; readonly pki: ControlPlane['pki']; readonly host: SealedHost },
) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: pki.file('ca.crt') },
  },
  authorization: { mode: 'Webhook' },
  tlsCertFile: pki.file(`kubelet-${name}.crt`),
  tlsPrivateKeyFile: pki.file(`kubelet-${name}.key`),
  containerRuntimeEndpoint: `unix://${socket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${group}`,
  failCgroupV1: false,
  failSwapOn: false,
  // A full disk of the machine that tests is no matter of the tests.
  evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
  podLogsDir: join(home, 'pods'),
  volumePluginDir: join(home, 'plugins'),
  resolvConf: join(home, 'resolv.conf'),
  ...namesFrom(host),
  registerNode: true,
})

/** One in each hierarchy of version 1, one in all with version 2. */
function cgroupFolders(group: string): readonly string[] {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [join(CGROUPS, group)]
  if (!existsSync(CGROUPS)) return []
  return readdirSync(CGROUPS)
    .map((name) => join(CGROUPS, name))
    .filter((path) => statSync(path).isDirectory())
    .map((path) => join(path, group))
}

/** From the leaves up: a cgroup with others in it cannot be removed. Throws while processes are in one. */
function removedCgroups(group: string): true {
  const remove = (folder: string): void => {
    if (!existsSync(folder)) return
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(folder, entry.name))
    rmdirSync(folder)
  }
  for (const folder of cgroupFolders(group)) remove(folder)
  return true
}
