// CoreDNS: names of Services and pods for a cluster's pods, at the address that kubelets give them.
import { addressIn } from '#lib/range-address.ts'
import type { KubeObject } from '../../schema/object.ts'
import {
  type AddonChart,
  type AddonValues,
  commonProblems,
  imageOf,
  replicasOf,
  RESTRICTED,
  TOLERATIONS,
} from './addon.ts'

const NAMESPACE = 'kube-system'
const NAME = 'coredns'
/** Clients, and kubelets' `clusterDNS`, expect the Service under this name. */
const SERVICE = 'kube-dns'
const LABELS = { 'k8s-app': SERVICE }
const REPLICAS = 2
const PORTS = { dns: 53, metrics: 9153, health: 8080, ready: 8181 }
/** A non-root user needs only this capability to bind port 53. */
const BINDS = { ...RESTRICTED, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }
const KNOWN = ['image', 'replicas', 'clusterIP', 'upstream']
const ADDRESS = /^[0-9a-fA-F.:]{2,45}$/
/** kubeadm uses the tenth address too, so kubelets need no other setting. */
const TENTH = 10

/** The Service's address in a Service range. */
export const dnsAddress = (range: string): string => addressIn(range, TENTH)

export const coredns: AddonChart = {
  versions: { '1.11': [32, 34], '1.12': [32, 36], '1.13': [33, 37], '1.14': [34, 38] },
  problems: (values) => [
    ...commonProblems(values, KNOWN),
    ...['clusterIP', 'upstream'].flatMap((name) => {
      const value = values[name]
      if (value === undefined || (typeof value === 'string' && ADDRESS.test(value))) return []
      return [`values.${name} must be an IP address`]
    }),
  ],
  render: (version, values, { services, domain }) => {
    const meta = { name: NAME, namespace: NAMESPACE, labels: { ...LABELS, 'app.kubernetes.io/version': version } }
    const clusterIP = typeof values['clusterIP'] === 'string' ? values['clusterIP'] : dnsAddress(services)
    return [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta },
      ...rights(),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta, data: { Corefile: corefile(domain, values) } },
      deployment(meta, values),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: meta,
        spec: { maxUnavailable: 1, selector: { matchLabels: LABELS } },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { ...meta, name: SERVICE },
        spec: {
          clusterIP,
          selector: LABELS,
          ports: [
            { name: 'dns', port: PORTS.dns, protocol: 'UDP' },
            { name: 'dns-tcp', port: PORTS.dns, protocol: 'TCP' },
            { name: 'metrics', port: PORTS.metrics, protocol: 'TCP' },
          ],
        },
      },
    ]
  },
}

const GROUP = 'rbac.authorization.k8s.io'
const RIGHTS = 'kubenode:addon:coredns'

/** Reads the objects behind names, and writes nothing. */
const rights = (): readonly KubeObject[] => [
  {
    apiVersion: `${GROUP}/v1`,
    kind: 'ClusterRole',
    metadata: { name: RIGHTS },
    rules: [
      { apiGroups: [''], resources: ['services', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  },
  {
    apiVersion: `${GROUP}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: RIGHTS },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: RIGHTS },
    subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
  },
]

/** Names outside the cluster are resolved by the node's resolver, or a configured one. */
const corefile = (domain: string, { upstream }: AddonValues): string => `.:${PORTS.dns} {
    errors
    health :${PORTS.health} {
        lameduck 5s
    }
    ready :${PORTS.ready}
    kubernetes ${domain} in-addr.arpa ip6.arpa {
        pods disabled
        ttl 30
    }
    prometheus :${PORTS.metrics}
    forward . ${typeof upstream === 'string' ? upstream : '/etc/resolv.conf'}
    cache 30
    loop
    reload
    loadbalance
}
`

const deployment = (metadata: KubeObject['metadata'], values: AddonValues): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: {
    replicas: replicasOf(values, REPLICAS),
    selector: { matchLabels: LABELS },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels: LABELS },
      spec: {
        serviceAccountName: NAME,
        priorityClassName: 'system-cluster-critical',
        // It must not depend on itself for DNS.
        dnsPolicy: 'Default',
        tolerations: [...TOLERATIONS],
        securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: LABELS },
          },
        ],
        containers: [
          {
            name: NAME,
            image: imageOf(values),
            args: ['-conf', '/etc/coredns/Corefile'],
            ports: [
              { name: 'dns', containerPort: PORTS.dns, protocol: 'UDP' },
              { name: 'dns-tcp', containerPort: PORTS.dns, protocol: 'TCP' },
              { name: 'metrics', containerPort: PORTS.metrics, protocol: 'TCP' },
            ],
            resources: { requests: { cpu: '100m', memory: '70Mi' }, limits: { memory: '170Mi' } },
            livenessProbe: { httpGet: { path: '/health', port: PORTS.health }, initialDelaySeconds: 60 },
            readinessProbe: { httpGet: { path: '/ready', port: PORTS.ready } },
            securityContext: BINDS,
            volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
          },
        ],
        volumes: [{ name: 'config', configMap: { name: NAME, items: [{ key: 'Corefile', path: 'Corefile' }] } }],
      },
    },
  },
})
