// Controller manager and scheduler of one control plane, separate from each other and from the API servers: a flag of one restarts nothing else.
import { asFlags } from '#lib/flags.ts'
import { k8s } from 'cdk8s-plus-27'
import { emulation, extraArgs } from './arguments.ts'
import { commonLabels, selectorOf } from './labels.ts'
import { podTemplate, probe } from './pods.ts'
import { folderOf, MANAGER_PORTS, type ControlPlaneSettings } from './settings.ts'

type Manager = keyof typeof MANAGER_PORTS

const GRACE_SECONDS = 30
const PROGRESS_SECONDS = 600

export const managerObjects = (settings: ControlPlaneSettings): readonly object[] => [
  ...objectsOf(settings, 'controller-manager', controllerManagerFlags(settings)),
  ...objectsOf(settings, 'scheduler', {}),
]

function objectsOf(
  settings: ControlPlaneSettings,
  part: Manager,
  flags: Readonly<Record<string, string>>,
): readonly object[] {
  const { namespace, replicas } = settings
  const name = `kube-${part}`
  const metadata = { name, namespace, labels: { ...commonLabels(settings), ...selectorOf(settings, part) } }
  const port = MANAGER_PORTS[part]
  const at = { path: '/healthz', port, scheme: 'HTTPS' } as const
  const kubeconfig = `${folderOf(`${part}-kubeconfig`)}/kubeconfig`
  return [
    k8s.KubePodDisruptionBudget.manifest({
      metadata,
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorOf(settings, part) },
      },
    }),
    k8s.KubeDeployment.manifest({
      metadata,
      spec: {
        replicas: settings.running === 'All' ? replicas : 0,
        selector: { matchLabels: selectorOf(settings, part) },
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: k8s.IntOrString.fromNumber(1), maxUnavailable: k8s.IntOrString.fromNumber(0) },
        },
        progressDeadlineSeconds: PROGRESS_SECONDS,
        template: podTemplate(settings, {
          part,
          command: [
            name,
            ...asFlags({
              kubeconfig,
              'authentication-kubeconfig': kubeconfig,
              'authorization-kubeconfig': kubeconfig,
              'bind-address': '0.0.0.0',
              'secure-port': String(port),
              'leader-elect': 'true',
              profiling: 'false',
              ...flags,
            }),
            ...emulation(settings.parts[part]),
            ...extraArgs(settings, part),
          ],
          ports: { https: port },
          probes: {
            ready: probe(at, { period: 5, failures: 3 }),
            live: probe(at, { period: 10, failures: 8 }),
            start: probe(at, { period: 2, failures: 60 }),
          },
          graceSeconds: GRACE_SECONDS,
        }),
      },
    }),
  ]
}

function controllerManagerFlags({ network, cluster }: ControlPlaneSettings): Readonly<Record<string, string>> {
  const ca = folderOf('cluster-ca')
  return {
    'cluster-name': cluster,
    'cluster-cidr': network.pods,
    'service-cluster-ip-range': network.services,
    'allocate-node-cidrs': 'true',
    'cluster-signing-cert-file': `${ca}/tls.crt`,
    'cluster-signing-key-file': `${ca}/tls.key`,
    'root-ca-file': `${folderOf('client-ca')}/ca.crt`,
    'service-account-private-key-file': `${folderOf('service-accounts')}/sa.key`,
    'use-service-account-credentials': 'true',
    // Removes expired join tokens.
    controllers: '*,tokencleaner',
  }
}
