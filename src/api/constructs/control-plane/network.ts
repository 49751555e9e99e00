// Network access in a control plane's namespace: anyone may reach the API servers, only API servers and members may reach etcd, and nothing else is open. API
// servers may reach their etcd and addresses outside the hub's own network.
import { k8s } from 'cdk8s-plus-27'
import { careLabels, commonLabels, selectorOf } from './labels.ts'
import { API_PORT, ETCD, MANAGER_PORTS, type ControlPlaneSettings, type Part } from './settings.ts'

const DNS = 53

export function networkObjects(settings: ControlPlaneSettings): readonly object[] {
  const { namespace } = settings
  const policy = (name: string, spec: k8s.NetworkPolicySpec) =>
    k8s.KubeNetworkPolicy.manifest({ metadata: { name, namespace, labels: commonLabels(settings) }, spec })
  const podsOf = (...parts: Part[]): k8s.NetworkPolicyPeer[] =>
    parts.map((part) => ({ podSelector: { matchLabels: selectorOf(settings, part) } }))
  const both = ['Ingress', 'Egress']
  return [
    policy('deny-all', { podSelector: {}, policyTypes: both }),
    policy('dns', {
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [{ ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: k8s.IntOrString.fromNumber(DNS) })) }],
    }),
    policy('etcd', {
      podSelector: { matchLabels: selectorOf(settings, 'etcd') },
      policyTypes: both,
      ingress: [
        {
          from: [...podsOf('apiserver'), { podSelector: { matchLabels: careLabels(settings) } }],
          ports: tcp(ETCD.client),
        },
        { from: podsOf('etcd'), ports: tcp(ETCD.client, ETCD.peer) },
      ],
      egress: [{ to: podsOf('etcd'), ports: tcp(ETCD.client, ETCD.peer) }],
    }),
    policy('etcd-care', {
      podSelector: { matchLabels: careLabels(settings) },
      policyTypes: both,
      egress: [{ to: podsOf('etcd'), ports: tcp(ETCD.client) }],
    }),
    policy('apiserver', {
      podSelector: { matchLabels: selectorOf(settings, 'apiserver') },
      policyTypes: both,
      ingress: [{ ports: tcp(API_PORT) }],
      egress: [
        { to: podsOf('etcd'), ports: tcp(ETCD.client) },
        // A cluster's users choose the addresses of its webhooks, and those in the status of Nodes and pods.
        ...settings.reachable.map(({ cidr, except }) => ({
          to: [{ ipBlock: { cidr, ...(except !== undefined && except.length > 0 && { except: [...except] }) } }],
        })),
      ],
    }),
    policy('managers', {
      podSelector: {
        matchExpressions: [
          {
            key: 'app.kubernetes.io/component',
            operator: 'In',
            values: Object.keys(MANAGER_PORTS),
          },
        ],
      },
      policyTypes: both,
      egress: [{ to: podsOf('apiserver'), ports: tcp(API_PORT) }],
    }),
  ]
}

const tcp = (...ports: number[]): k8s.NetworkPolicyPort[] =>
  ports.map((port) => ({ protocol: 'TCP', port: k8s.IntOrString.fromNumber(port) }))
