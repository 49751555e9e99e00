// The API servers of one control plane: a new one serves before an old one stops, and an old one announces its end first.
import { k8s } from 'cdk8s-plus-27'
import { emulation, extraArgs } from './arguments.ts'
import { clientUrls } from './etcd.ts'
import { commonLabels, selectorOf } from './labels.ts'
import { podTemplate, probe } from './pods.ts'
import { API_PORT, folderOf, minorOf, type ControlPlaneSettings } from './settings.ts'
import { defined } from '#lib/defined.ts'
import { asFlags } from '#lib/flags.ts'

const API_SERVICE = 'kube-apiserver'
const CONFIG = 'apiserver-config'
const CONFIG_FOLDER = '/etc/kubernetes/config'
/** Time for endpoints and load balancers to learn that it stops; new requests are still served. */
const DRAIN_SECONDS = 20
/** Time for running requests to finish. */
const GRACE_SECONDS = 90
const PROGRESS_SECONDS = 600

export function apiserverObjects(settings: ControlPlaneSettings): readonly object[] {
  const { namespace, replicas, endpoint } = settings
  const labels = { ...commonLabels(settings), ...selectorOf(settings, 'apiserver') }
  const metadata = { name: 'kube-apiserver', namespace, labels }
  const at = { port: API_PORT, scheme: 'HTTPS' } as const
  return [
    serviceOf(settings),
    k8s.KubeConfigMap.manifest({
      metadata: { ...metadata, name: CONFIG },
      data: { 'authentication.yaml': authentication(settings) },
    }),
    k8s.KubePodDisruptionBudget.manifest({
      metadata,
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorOf(settings, 'apiserver') },
      },
    }),
    k8s.KubeDeployment.manifest({
      metadata,
      spec: {
        replicas: settings.running === 'All' || settings.running === 'Servers' ? replicas : 0,
        selector: { matchLabels: selectorOf(settings, 'apiserver') },
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: k8s.IntOrString.fromNumber(1), maxUnavailable: k8s.IntOrString.fromNumber(0) },
        },
        progressDeadlineSeconds: PROGRESS_SECONDS,
        template: podTemplate(settings, {
          part: 'apiserver',
          command: command(settings, endpoint.host),
          ports: { https: API_PORT },
          configMaps: { [CONFIG]: CONFIG_FOLDER },
          probes: {
            ready: probe({ path: '/readyz', ...at }, { period: 2, failures: 3 }),
            // A restart does not help one that lost its etcd.
            live: probe({ path: '/livez?exclude=etcd', ...at }, { period: 10, failures: 8 }),
            start: probe({ path: '/livez', ...at }, { period: 2, failures: 150 }),
          },
          graceSeconds: GRACE_SECONDS,
        }),
      },
    }),
  ]
}

function serviceOf(settings: ControlPlaneSettings): object {
  const { endpoint, namespace } = settings
  return k8s.KubeService.manifest({
    metadata: { name: API_SERVICE, namespace, labels: commonLabels(settings) },
    spec: {
      type: endpoint.type,
      selector: selectorOf(settings, 'apiserver'),
      ...defined({ loadBalancerIp: endpoint.loadBalancerIP }),
      ports: [
        {
          name: 'https',
          port: endpoint.type === 'NodePort' ? API_PORT : endpoint.port,
          targetPort: k8s.IntOrString.fromNumber(API_PORT),
          ...defined({ nodePort: endpoint.nodePort }),
        },
      ],
    },
  })
}

/** The first minor whose API servers read the file's stable version. */
const STABLE_CONFIG_MINOR = 34

/** Only health checks are anonymous: kubelets and load balancers have no certificate. */
function authentication({ parts }: ControlPlaneSettings): string {
  const { version, emulates } = parts.apiserver
  const form = Math.min(minorOf(version) ?? 0, emulates) >= STABLE_CONFIG_MINOR ? 'v1' : 'v1beta1'
  return [
    `apiVersion: apiserver.config.k8s.io/${form}`,
    'kind: AuthenticationConfiguration',
    'anonymous:',
    '  enabled: true',
    '  conditions:',
    ...['/livez', '/readyz', '/healthz'].map((path) => `    - path: ${path}`),
    '',
  ].join('\n')
}

function command(settings: ControlPlaneSettings, host: string): readonly string[] {
  const { network, oldTokenKeys } = settings
  const [own, etcd, kubelet, proxy, tokens] = (
    ['apiserver', 'apiserver-etcd', 'apiserver-kubelet', 'front-proxy', 'service-accounts'] as const
  ).map(folderOf) as [string, string, string, string, string]
  const issuer = `https://kubernetes.default.svc.${network.domain}`
  return [
    'kube-apiserver',
    ...asFlags({
      'secure-port': String(API_PORT),
      'bind-address': '0.0.0.0',
      'external-hostname': host,
      'etcd-servers': clientUrls(settings).join(','),
      'etcd-cafile': `${etcd}/ca.crt`,
      'etcd-certfile': `${etcd}/tls.crt`,
      'etcd-keyfile': `${etcd}/tls.key`,
      'tls-cert-file': `${own}/tls.crt`,
      'tls-private-key-file': `${own}/tls.key`,
      'tls-min-version': 'VersionTLS12',
      'client-ca-file': `${folderOf('client-ca')}/ca.crt`,
      'kubelet-client-certificate': `${kubelet}/tls.crt`,
      'kubelet-client-key': `${kubelet}/tls.key`,
      'kubelet-preferred-address-types': 'InternalIP,ExternalIP,Hostname',
      'requestheader-client-ca-file': `${proxy}/ca.crt`,
      'requestheader-allowed-names': 'front-proxy-client',
      'requestheader-username-headers': 'X-Remote-User',
      'requestheader-group-headers': 'X-Remote-Group',
      'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
      'proxy-client-cert-file': `${proxy}/tls.crt`,
      'proxy-client-key-file': `${proxy}/tls.key`,
      // Service addresses lead nowhere here, or to a hub Service: call webhooks and extension API servers at their endpoints.
      'enable-aggregator-routing': 'true',
      'service-account-issuer': issuer,
      'service-account-signing-key-file': `${tokens}/sa.key`,
      'service-cluster-ip-range': network.services,
      'encryption-provider-config': `${folderOf('encryption')}/config.yaml`,
      'authentication-config': `${CONFIG_FOLDER}/authentication.yaml`,
      'authorization-mode': 'Node,RBAC',
      'enable-admission-plugins': 'NodeRestriction',
      // Hosts join with bootstrap tokens.
      'enable-bootstrap-token-auth': 'true',
      'allow-privileged': 'true',
      profiling: 'false',
      'shutdown-delay-duration': `${DRAIN_SECONDS}s`,
      'shutdown-send-retry-after': 'true',
      // Occasionally moves clients with a long connection to another API server.
      'goaway-chance': settings.replicas > 1 ? '0.001' : '0',
    }),
    // Tokens signed by an older key stay valid until they expire.
    `--service-account-key-file=${tokens}/sa.pub`,
    ...Array.from({ length: oldTokenKeys }, (_, n) => `--service-account-key-file=${tokens}/sa-old-${n}.pub`),
    ...emulation(settings.parts.apiserver),
    ...extraArgs(settings, 'apiserver'),
  ]
}
