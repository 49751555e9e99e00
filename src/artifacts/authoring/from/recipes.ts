// Recipes for components that nearly every node has: program paths, units, how a switch disrupts, and health probes.
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import type { RecipeName } from './recipe-names.ts'

type Spec = MachineComponentInput['spec']

export interface Recipe {
  readonly name: RecipeName
  /** For the documentation. */
  readonly about: string
  readonly component: string
  /** Base names of programs in archives and images, and their folder on a host; packages define their own paths. */
  readonly programs: readonly RegExp[]
  readonly folder: string
  /** Another name on the host, as its unit uses. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Package files needed at another path, where its scripts would copy them. */
  readonly copies?: Readonly<Record<string, string>>
  /** Package files that this component leaves out. */
  readonly leaves?: RegExp
  readonly unit?: {
    readonly name: string
    /** Used if the download has no unit. */
    readonly text: string
    /** Lines of the publisher's unit to drop, and lines to add to [Service]. */
    readonly without?: RegExp
    readonly service?: readonly string[]
    /** A host set up by kubeadm or a distribution keeps its own unit of that name. */
    readonly existing?: 'Leave'
  }
  /** Accounts that its programs need besides the unit's. */
  readonly users?: readonly string[]
  readonly probes: Spec['probes']
  readonly disruption: NonNullable<Spec['disruption']>
  readonly drainOn?: NonNullable<Spec['drainOn']>
  readonly skew?: Spec['skew']
  /** Notes for users. */
  readonly notes?: readonly string[]
}

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`

/** Both start hundreds of processes and open thousands of files. */
const LIMITS = ['LimitNPROC=infinity', 'LimitCORE=infinity', 'LimitNOFILE=1048576', 'TasksMax=infinity']
const WANTED = ['', '[Install]', 'WantedBy=multi-user.target']

const kubelet: Recipe = {
  name: 'kubelet',
  about: 'the kubelet; asks its healthz and its Lease, drains the node before another minor version',
  component: 'kubelet',
  programs: [/^kubelet$/],
  folder: '/usr/bin',
  unit: {
    name: 'kubelet.service',
    existing: 'Leave',
    // Arguments come from drop-ins of kubeadm or a distribution, which replace ExecStart, or from the file.
    text: lines(
      '[Unit]',
      'Description=kubelet: The Kubernetes Node Agent',
      'Documentation=https://kubernetes.io/docs/',
      'Wants=network-online.target',
      'After=network-online.target containerd.service',
      'StartLimitIntervalSec=0',
      '',
      '[Service]',
      'EnvironmentFile=-/etc/default/kubelet',
      'ExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS',
      'Restart=always',
      'RestartSec=10',
      'KillMode=process',
      ...WANTED,
    ),
  },
  probes: [
    { name: 'healthz', http: { port: 10_248, path: '/healthz' }, interval: '10s', timeout: '5s', settle: '20s' },
    // Once a minute, for clusters of ten thousand nodes; more often while a switch is judged.
    { name: 'lease', nodeLease: { maxAge: '40s' }, interval: '1m', timeout: '5s', settle: '20s' },
  ],
  disruption: 'Drain',
  drainOn: 'Minor',
  skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 },
  notes: ['its arguments come from drop-ins of its unit, or from KUBELET_EXTRA_ARGS in /etc/default/kubelet'],
}

const containerd: Recipe = {
  name: 'containerd',
  about: 'containerd; asks its CRI through its socket, and its restart restarts no container',
  component: 'containerd',
  programs: [/^containerd$/, /^containerd-shim(?:-runc-v[12])?$/, /^ctr$/],
  folder: '/usr/bin',
  unit: {
    name: 'containerd.service',
    existing: 'Leave',
    text: lines(
      '[Unit]',
      'Description=containerd container runtime',
      'Documentation=https://containerd.io',
      'After=network.target local-fs.target',
      '',
      '[Service]',
      'ExecStartPre=-/sbin/modprobe overlay',
      'ExecStart=/usr/bin/containerd',
      'Type=notify',
      'Delegate=yes',
      'KillMode=process',
      'Restart=always',
      'RestartSec=5',
      ...LIMITS,
      'OOMScoreAdjust=-999',
      ...WANTED,
    ),
  },
  probes: [
    { name: 'cri', cri: { socket: '/run/containerd/containerd.sock' }, interval: '10s', timeout: '5s', settle: '15s' },
  ],
  // Its shims are separate processes and outlive it.
  disruption: 'Restart',
}

const runc: Recipe = {
  name: 'runc',
  about: 'runc; running containers keep the one they started with, so a switch disrupts nothing',
  component: 'runc',
  programs: [/^runc$/],
  folder: '/usr/sbin',
  // Another name of the same program.
  leaves: /^\/usr\/bin\/runc$/,
  probes: [{ name: 'runs', exec: { command: ['/usr/sbin/runc', '--version'] }, interval: '1m', settle: '2s' }],
  disruption: 'None',
}

const cniPlugins: Recipe = {
  name: 'cni-plugins',
  about: 'the reference CNI plugins; each pod starts its own, so a switch disrupts nothing',
  component: 'cni-plugins',
  programs: [/^(?!LICENSE|README)[a-z][a-z0-9-]*$/],
  folder: '/opt/cni/bin',
  // A service for a plugin that cluster nodes do not use.
  leaves: /\/cni-dhcp\./,
  probes: [],
  disruption: 'None',
}

const nodeExporter: Recipe = {
  name: 'node-exporter',
  about: "Prometheus' node exporter; asks /metrics",
  component: 'node-exporter',
  programs: [/^(?:prometheus-)?node[-_]exporter$/],
  folder: '/usr/bin',
  renamed: { node_exporter: 'prometheus-node-exporter', 'node-exporter': 'prometheus-node-exporter' },
  leaves: /^\/etc\/logrotate\.d\//,
  unit: {
    name: 'prometheus-node-exporter.service',
    text: lines(
      '[Unit]',
      'Description=Prometheus exporter for machine metrics',
      'Documentation=https://github.com/prometheus/node_exporter',
      '',
      '[Service]',
      'User=prometheus',
      'EnvironmentFile=-/etc/default/prometheus-node-exporter',
      'ExecStart=/usr/bin/prometheus-node-exporter $ARGS',
      'Restart=on-failure',
      'TimeoutStopSec=20s',
      ...WANTED,
    ),
    // The folder of its textfile collector, which the package would create.
    service: ['StateDirectory=prometheus/node-exporter'],
  },
  probes: [{ name: 'metrics', http: { port: 9100, path: '/metrics' }, interval: '15s', timeout: '5s', settle: '5s' }],
  disruption: 'Restart',
}

const chrony: Recipe = {
  name: 'chrony',
  about: 'chrony; asks the daemon for its tracking',
  component: 'chrony',
  programs: [/^chronyd$/, /^chronyc$/],
  folder: '/usr/sbin',
  copies: {
    '/usr/share/chrony/chrony.conf': '/etc/chrony/chrony.conf',
    '/usr/share/chrony/chrony.keys': '/etc/chrony/chrony.keys',
  },
  // Hooks for changing networks, which cluster nodes do not have, and services that nothing starts.
  leaves:
    /\/(?:dhcp|network|ppp|NetworkManager|networkd-dispatcher|ntp-units\.d)\/|\/chrony-(?:wait|dnssrv@)\.|\/chrony-helper$/,
  unit: {
    name: 'chrony.service',
    text: lines(
      '[Unit]',
      'Description=chrony, an NTP client/server',
      'After=network.target',
      '',
      '[Service]',
      'Type=forking',
      'PIDFile=/run/chrony/chronyd.pid',
      'EnvironmentFile=-/etc/default/chrony',
      'ExecStart=/usr/sbin/chronyd $DAEMON_OPTS',
      'RuntimeDirectory=chrony',
      'StateDirectory=chrony',
      'LogsDirectory=chrony',
      ...WANTED,
    ),
    // A failed condition silently skips the unit, and the agent would report a service that does not start.
    without: /^ConditionCapability=/,
  },
  users: ['_chrony'],
  probes: [
    {
      name: 'tracking',
      // Uses its own socket: where machines share a network, the loopback port may be another daemon's.
      exec: { command: ['/usr/bin/chronyc', '-n', '-h', '/run/chrony/chronyd.sock', 'tracking'] },
      interval: '30s',
      timeout: '5s',
      settle: '5s',
    },
  ],
  disruption: 'Restart',
}

export const RECIPES: readonly Recipe[] = [kubelet, containerd, runc, cniPlugins, nodeExporter, chrony]
