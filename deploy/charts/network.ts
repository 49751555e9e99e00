// Who reaches our pods and what they reach: nothing, unless a policy here says so. A rule without peers is for all addresses: a range of addresses does not
// cover pods and nodes in every network plugin.
import { Chart } from 'cdk8s'
import { k8s } from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { API_PORT } from '#api/constructs/control-plane/settings.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { commonLabels, providerLabelsOf, providerSelectorOf, SCRAPE_LABEL, selectorOf } from './labels.ts'
import { FIRST_PLANE_PORT, PORTS, providerPodName } from './programs.ts'
import type { ProviderPod } from './provider-settings.ts'
import { workloadsOf, type InstallSettings, type Workload } from './settings.ts'

/** Of the Service, and of its pods in some distributions: a policy applies after the translation. */
const DNS = [53, 5353]
const HTTPS = 443
/** Where kubeadm puts the API server; what follows a Service policies see after its translation, so 443 of the Service alone does not do. */
const API_SERVERS = [HTTPS, 6443]
const GIT = [22, ...API_SERVERS]

interface Reach {
  readonly cidr: string
  readonly ports: readonly number[]
}

const tcp = (ports: readonly number[]): k8s.NetworkPolicyPort[] =>
  ports.map((port) => ({ protocol: 'TCP', port: k8s.IntOrString.fromNumber(port) }))

const planePorts = (most: number): k8s.NetworkPolicyPort => ({
  protocol: 'TCP',
  port: k8s.IntOrString.fromNumber(FIRST_PLANE_PORT),
  endPort: FIRST_PLANE_PORT + most - 1,
})

/** Listed places, or all addresses on the usual ports. */
const egressTo = (places: readonly Reach[], usual: readonly number[]): k8s.NetworkPolicyEgressRule[] =>
  places.length > 0
    ? places.map(({ cidr, ports }) => ({ to: [{ ipBlock: { cidr } }], ports: tcp(ports) }))
    : usual.length > 0
      ? [{ ports: tcp(usual) }]
      : []

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': HTTPS }
const portOf = (text: string): readonly number[] => {
  const url = URL.parse(text)
  const port = url === null ? undefined : url.port === '' ? DEFAULT_PORTS[url.protocol] : Number(url.port)
  return port === undefined ? [] : [port]
}
const portsOf = (urls: readonly string[]): readonly number[] => [...new Set(urls.flatMap(portOf))]

/** Where artifacts come from, as `oci` names it. */
const registriesOf = (reference: string | undefined): readonly string[] =>
  reference === undefined ? [] : [`https://${reference.split('/', 1)[0] ?? ''}`]

/** Inspections, repairs and gates. */
const egressToCalls = ({ prometheus = '', inspectionAllow, callAllow }: InstallSettings) =>
  egressTo([], portsOf([prometheus, ...inspectionAllow, ...callAllow]))

/** What a program reaches beside DNS and the API server. */
const EGRESS: Readonly<Record<Workload, (settings: InstallSettings) => k8s.NetworkPolicyEgressRule[]>> = {
  sync: (settings) => [
    ...egressTo(settings.networkPolicies.git, GIT),
    ...egressToCalls(settings),
    ...egressToPlanes(settings, [{ podSelector: { matchLabels: selectorOf('cluster') } }]),
  ],
  controllers: (settings) => [
    ...egressTo(settings.networkPolicies.more, []),
    ...egressToCalls(settings),
    ...settings.providerPods.map(({ name }) => ({
      ports: tcp([PORTS.provider]),
      to: [{ podSelector: { matchLabels: providerSelectorOf(name) } }],
    })),
  ],
  // A registry sends clients elsewhere for tokens and for layers, at the usual port.
  artifacts: ({ artifacts }) =>
    artifacts?.source.oci === undefined
      ? []
      : egressTo([], [...new Set([HTTPS, ...portsOf(registriesOf(artifacts.source.oci))])]),
  // The issuer may keep its keys elsewhere, at the usual port; API servers of further clusters are where those of members are.
  console: ({ console: page, networkPolicies }) => [
    ...egressTo([], page?.oidc === undefined ? [] : [...new Set([HTTPS, ...portsOf([page.oidc.issuer])])]),
    ...(page?.clusters === undefined ? [] : egressTo(networkPolicies.git, API_SERVERS)),
  ],
  history: ({ history, networkPolicies }) =>
    history?.clusters === undefined ? [] : egressTo(networkPolicies.git, API_SERVERS),
  approver: () => [],
  defender: () => [],
  // The container beside it is asked at the address of the pod itself.
  cluster: (settings) => egressToPlanes(settings),
}

/** API servers of Clusters, of registered ones too; of the controllers what their providers, inspections and repairs reach. */
const hostedEgress = (settings: InstallSettings): k8s.NetworkPolicyEgressRule[] => [
  ...egressTo(settings.networkPolicies.git, API_SERVERS),
  ...egressToPlanes(settings, [{ podSelector: { matchLabels: selectorOf('cluster') } }]),
  ...EGRESS.controllers(settings),
]

/** Control planes of both flavors: ports of the pod that runs the embedded ones, and API servers in namespaces of their own. */
function egressToPlanes(
  { controlPlanes }: Pick<InstallSettings, 'controlPlanes'>,
  embedded?: k8s.NetworkPolicyPeer[],
): k8s.NetworkPolicyEgressRule[] {
  const namespaceSelector = { matchLabels: { [ANNOTATIONS.controlPlane]: 'true' } }
  return [
    ...(controlPlanes?.claim === undefined
      ? []
      : [{ ports: [planePorts(controlPlanes.most)], ...(embedded !== undefined && { to: embedded }) }]),
    ...(controlPlanes?.kubernetes === undefined ? [] : [{ ports: tcp([API_PORT]), to: [{ namespaceSelector }] }]),
  ]
}

const ingressAt = (port: number, cidrs: readonly string[]): k8s.NetworkPolicyIngressRule => {
  const from = cidrs.map((cidr) => ({ ipBlock: { cidr } }))
  return { ports: tcp([port]), ...(from.length > 0 && { from }) }
}

/** What reaches a program beside the scraping of its metrics. The kubelet of its node always does. */
function ingressOf(
  workload: Workload,
  { webhook, artifacts, gitWebhooks, controlPlanes, console: page }: InstallSettings,
): k8s.NetworkPolicyIngressRule[] {
  if (workload === 'defender' && webhook.enabled) return [{ ports: tcp([PORTS.webhook]) }]
  if (workload === 'sync' && gitWebhooks.enabled) return [ingressAt(PORTS.hooks, gitWebhooks.from)]
  if (workload === 'cluster' && controlPlanes?.claim !== undefined) {
    const from = controlPlanes.from.map((block) => ({ ipBlock: { cidr: block } }))
    return [{ ports: [planePorts(controlPlanes.most)], ...(from.length > 0 && { from }) }]
  }
  if (workload === 'console') return [ingressAt(PORTS.console, page?.from ?? [])]
  return workload === 'artifacts' ? [ingressAt(PORTS.artifacts, artifacts?.from ?? [])] : []
}

const TO_DNS: k8s.NetworkPolicyEgressRule = {
  ports: ['UDP', 'TCP'].flatMap((protocol) =>
    DNS.map((port) => ({ protocol, port: k8s.IntOrString.fromNumber(port) })),
  ),
}

/** Reached by the controllers, and reaches its cloud. */
const ofProvider = ({ name, reach }: ProviderPod): k8s.NetworkPolicySpec => ({
  podSelector: { matchLabels: providerSelectorOf(name) },
  policyTypes: ['Ingress', 'Egress'],
  ingress: [{ ports: tcp([PORTS.provider]), from: [{ podSelector: { matchLabels: selectorOf('controllers') } }] }],
  egress: [TO_DNS, ...egressTo(reach, [HTTPS])],
})

export class NetworkChart extends Chart {
  constructor(scope: Construct, settings: InstallSettings) {
    super(scope, 'network', { disableResourceNameHashes: true })
    if (!settings.networkPolicies.enabled) return
    const policy = (name: string, spec: k8s.NetworkPolicySpec, labels = commonLabels(settings.version)) =>
      new k8s.KubeNetworkPolicy(this, name, { metadata: { name, namespace: SYSTEM_NAMESPACE, labels }, spec })
    policy('kubenode-deny-all', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    policy('kubenode-all', {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'kubenode' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          ports: tcp([PORTS.metrics]),
          from: [{ namespaceSelector: { matchLabels: { [SCRAPE_LABEL]: 'true' } } }],
        },
      ],
      egress: [TO_DNS, ...egressTo(settings.networkPolicies.apiServers, API_SERVERS)],
    })
    for (const workload of workloadsOf(settings)) {
      const [ingress, egress] = [ingressOf(workload, settings), EGRESS[workload](settings)]
      if (ingress.length === 0 && egress.length === 0) continue
      policy(`kubenode-${workload}`, {
        podSelector: { matchLabels: selectorOf(workload) },
        policyTypes: ['Ingress', 'Egress'],
        ...(ingress.length > 0 && { ingress }),
        ...(egress.length > 0 && { egress }),
      })
    }
    if (settings.roles.includes('hub') && settings.clusterPrograms !== undefined)
      policy('kubenode-hosted', {
        podSelector: { matchLabels: selectorOf('hosted') },
        policyTypes: ['Egress'],
        egress: hostedEgress(settings),
      })
    if (settings.roles.includes('business'))
      for (const pod of settings.providerPods)
        policy(providerPodName(pod.name), ofProvider(pod), providerLabelsOf(pod.name, settings.version))
  }
}
