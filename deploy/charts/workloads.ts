// The programs as pods: one Deployment each with its budget, the Services in front of them, and the files that settings hold.
import { Chart, Size } from 'cdk8s'
import {
  ConfigMap,
  Cpu,
  Deployment,
  DeploymentStrategy,
  EnvFieldPaths,
  EnvValue,
  ImagePullPolicy,
  k8s,
  LabelSelector,
  PercentOrAbsolute,
  PersistentVolumeClaim,
  Service,
  ServiceAccount,
  ServiceType,
  Volume,
  type VolumeMount,
} from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { ARTIFACTS_SECRET, CLUSTER_PROGRAMS, CONTROL_PLANE_VERSIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { amend } from './amend.ts'
import { addPlanes, planesService } from './control-planes.ts'
import { commonLabels, labelsOf, selectorOf } from './labels.ts'
import {
  amendPods,
  containerSecurity,
  digestOf,
  GRACE,
  memoryOf,
  podSecurity,
  priorityOf,
  probe,
  PROGRESS,
  secretVolume,
  temporary,
  tolerate,
} from './pods.ts'
import {
  argsOf,
  ARTIFACTS_FOLDER,
  ARTIFACTS_SERVICE,
  HOOKS_SERVICE,
  CACHE_FOLDER,
  clusterArtifactsOf,
  CONFIG_FOLDER,
  CONSOLE_FOLDERS,
  HISTORY_CLUSTERS,
  HISTORY_FOLDER,
  IN_CLUSTERS_FOLDER,
  CONSOLE_SERVICE,
  CONFIG_SECRET,
  configFilesOf,
  HOSTED_CA_FILE,
  hostedFilesOf,
  PORTS,
  portsOf,
  SECRETS_FOLDER,
  VERSIONS_FOLDER,
  WEBHOOK_SERVICE,
} from './programs.ts'
import { keysMount } from './provider-pods.ts'
import { imageOf, workloadsOf, type InstallSettings, type Workload } from './settings.ts'

/** Sync over 500 clusters takes a twelfth less memory with it, and as much time. */
const SMALL_YOUNG_SPACE = '--max-semi-space-size=8'

const NAMESPACE = SYSTEM_NAMESPACE
const CA_ENTRY = 'ca.crt'

export class WorkloadsChart extends Chart {
  constructor(scope: Construct, settings: InstallSettings) {
    super(scope, 'workloads', { disableResourceNameHashes: true })
    const workloads = workloadsOf(settings)
    this.#quota(settings, workloads)
    this.#config(settings, workloads)
    for (const workload of workloads) {
      this.#services(workload, settings)
      this.#budget(workload, settings)
      this.#deployment(workload, settings)
    }
  }

  /** A quota is what lets pods outside of kube-system have a priority of the system, where a cluster limits that. */
  #quota(settings: InstallSettings, workloads: readonly Workload[]): void {
    const classes = new Set(
      workloads.map((w) => priorityOf(w, settings)).filter((c) => c?.startsWith('system-') === true),
    )
    if (classes.size === 0) return
    const providers = settings.providerPods.length
    new k8s.KubeResourceQuota(this, 'critical-pods', {
      metadata: { name: 'kubenode-critical-pods', namespace: NAMESPACE, labels: commonLabels(settings.version) },
      spec: {
        // Twice as many while a version replaces another.
        hard: { pods: k8s.Quantity.fromString(String(2 * (settings.replicas * workloads.length + providers))) },
        scopeSelector: {
          matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: [...classes] as string[] }],
        },
      },
    })
  }

  /** A Secret: providers may hold credentials, and none of our programs can change one. */
  #config(settings: InstallSettings, workloads: readonly Workload[]): void {
    const files = new Map([
      ...workloads.flatMap((w) => [...configFilesOf(w, settings)]),
      ...(settings.roles.includes('hub') ? hostedFilesOf('controllers', settings) : []),
    ])
    if (files.size === 0) return
    new k8s.KubeSecret(this, 'config', {
      metadata: { name: CONFIG_SECRET, namespace: NAMESPACE, labels: commonLabels(settings.version) },
      type: 'Opaque',
      data: Object.fromEntries([...files].map(([file, text]) => [file, Buffer.from(text).toString('base64')])),
    })
  }

  #budget(workload: Workload, { version }: InstallSettings): void {
    new k8s.KubePodDisruptionBudget(this, `${workload}-budget`, {
      metadata: { name: `kubenode-${workload}`, namespace: NAMESPACE, labels: labelsOf(workload, version) },
      spec: {
        // Never blocks a drain, also with one replica.
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorOf(workload) },
      },
    })
  }

  #services(workload: Workload, settings: InstallSettings): void {
    const { webhook, artifacts, gitWebhooks, version } = settings
    const service = (name: string, type: ServiceType, port: number, target: number, nodePort?: number) => {
      const made = new Service(this, name, {
        metadata: { name, namespace: NAMESPACE, labels: labelsOf(workload, version) },
        type,
        ports: [
          {
            name: port === HTTP ? 'http' : 'https',
            port,
            targetPort: target,
            ...(nodePort !== undefined && { nodePort }),
          },
        ],
      })
      for (const [key, value] of Object.entries(selectorOf(workload))) made.selectLabel(key, value)
      amend(made, [[['spec', 'externalIPs'], undefined]])
      return made
    }
    if (workload === 'defender' && webhook.enabled)
      service(WEBHOOK_SERVICE, ServiceType.CLUSTER_IP, HTTPS, PORTS.webhook)
    if (workload === 'cluster' && settings.controlPlanes?.claim !== undefined) planesService(this, settings)
    if (workload === 'sync' && gitWebhooks.enabled) service(HOOKS_SERVICE, ServiceType.CLUSTER_IP, HTTP, PORTS.hooks)
    if (workload === 'console') service(CONSOLE_SERVICE, ServiceType.CLUSTER_IP, HTTPS, PORTS.console)
    if (workload === 'artifacts' && artifacts !== undefined) {
      const { exposure, port, from } = artifacts
      const isBalanced = exposure === 'LoadBalancer'
      const made = service(
        ARTIFACTS_SERVICE,
        isBalanced ? ServiceType.LOAD_BALANCER : ServiceType.NODE_PORT,
        isBalanced ? (port ?? HTTPS) : HTTPS,
        PORTS.artifacts,
        isBalanced ? undefined : port,
      )
      if (isBalanced && from.length > 0) amend(made, [[['spec', 'loadBalancerSourceRanges'], from]])
    }
  }

  #deployment(workload: Workload, settings: InstallSettings): void {
    const { version, replicas, resources } = settings
    const { cpuMilli, heapMiB, otherMiB } = resources[workload]
    const name = `kubenode-${workload}`
    const labels = labelsOf(workload, version)
    const hasVolume = workload === 'history' || (workload === 'cluster' && settings.controlPlanes?.claim !== undefined)
    const deployment = new Deployment(this, workload, {
      metadata: { name, namespace: NAMESPACE, labels },
      // A volume is for one pod at a time; sessions of people are in the memory of one.
      replicas: hasVolume || workload === 'console' ? 1 : replicas,
      podMetadata: { labels },
      select: false,
      // Reviews are answered all the time; a new pod serves before an old one ends.
      strategy: hasVolume
        ? DeploymentStrategy.recreate()
        : DeploymentStrategy.rollingUpdate({
            maxSurge: PercentOrAbsolute.absolute(1),
            maxUnavailable: PercentOrAbsolute.absolute(0),
          }),
      progressDeadline: PROGRESS,
      terminationGracePeriod: GRACE,
      serviceAccount: ServiceAccount.fromServiceAccountName(this, `${workload}-account`, name),
      automountServiceAccountToken: false,
      securityContext: podSecurity,
    })
    deployment.select(LabelSelector.of({ labels: selectorOf(workload) }))
    tolerate(deployment, settings)
    const files = configFilesOf(workload, settings)
    deployment.addContainer({
      name: workload,
      image: imageOf(settings),
      imagePullPolicy: ImagePullPolicy.IF_NOT_PRESENT,
      args: [...argsOf(workload, settings)],
      ports: portsOf(workload, settings).map((port) => ({ name: port, number: PORTS[port] })),
      envVariables: {
        NODE_OPTIONS: { value: `--max-old-space-size=${heapMiB} ${SMALL_YOUNG_SPACE}` },
        POD_IP: EnvValue.fromFieldRef(EnvFieldPaths.POD_IP),
      },
      volumeMounts: [
        { path: '/tmp', volume: temporary(deployment) },
        ...configMounts(this, workload, [...files.keys()]),
        ...MOUNTS[workload]({ scope: this, settings }),
      ],
      startup: probe('/healthz', { period: 2, failures: 60 }),
      liveness: probe('/healthz', { period: 10, failures: 6 }),
      readiness: probe('/readyz', { period: 5, failures: 3 }),
      resources: {
        cpu: { request: Cpu.millis(cpuMilli) },
        memory: memoryOf({ heapMiB, otherMiB }),
      },
      securityContext: containerSecurity,
    })
    if (workload === 'cluster') addPlanes(deployment, settings)
    const digest = files.size === 0 ? undefined : digestOf(files)
    const pods = {
      selector: selectorOf(workload),
      priority: priorityOf(workload, settings),
      hasToken: true,
      digest,
      ...(workload === 'console' && settings.history?.console === true && { beside: selectorOf('history') }),
    }
    amendPods(deployment, pods, settings)
  }
}

const HTTPS = 443
/** Behind an ingress, which has the certificate. */
const HTTP = 80

/** File by file: everyone could replace what is in the folder of a volume, and programs refuse such a folder. */
export function configMounts(scope: Construct, workload: string, files: readonly string[]): readonly VolumeMount[] {
  if (files.length === 0) return []
  const volume = secretVolume(scope, `${workload}-config`, CONFIG_SECRET)
  return files.map((file) => ({ path: `${CONFIG_FOLDER}/${file}`, subPath: file, readOnly: true, volume }))
}

interface Place {
  readonly scope: Construct
  readonly settings: InstallSettings
}

const claimed = ({ scope }: Place, id: string, name: string): Volume =>
  Volume.fromPersistentVolumeClaim(
    scope,
    `${id}-volume`,
    PersistentVolumeClaim.fromClaimName(scope, `${id}-claim`, name),
    { name: id },
  )
const cache = ({ scope, settings }: Place, workload: Workload): Volume =>
  Volume.fromEmptyDir(scope, `${workload}-cache`, 'cache', { sizeLimit: Size.mebibytes(settings.cacheMiB) })

/** Where the controllers find what their providers need. */
export const providerMounts = (scope: Construct, settings: InstallSettings, of = ''): readonly VolumeMount[] => {
  const id = (name: string): string => (of === '' ? name : `${of}-${name}`)
  return [
    ...settings.providerSecrets.map((secret, n) => ({
      path: `${SECRETS_FOLDER}/${secret}`,
      readOnly: true,
      volume: secretVolume(scope, id(`provider-${n}`), secret),
    })),
    ...settings.providerPods.map((pod) => keysMount(scope, id(`serves-${pod.name}`), pod, ['ca.crt', 'token'])),
  ]
}

/** Of the hub's own artifact servers. Without the Secret, which the first of them makes, pods wait for it. */
export const artifactsAuthorityMount = (
  scope: Construct,
  id: string,
  settings: InstallSettings,
): readonly VolumeMount[] =>
  clusterArtifactsOf(settings)?.authority === 'Own'
    ? [
        {
          path: `${CONFIG_FOLDER}/${HOSTED_CA_FILE}`,
          subPath: CA_ENTRY,
          readOnly: true,
          volume: secretVolume(scope, id, ARTIFACTS_SECRET, [CA_ENTRY]),
        },
      ]
    : []

/** As a folder: it follows a change. */
const configMapMount = (scope: Construct, id: string, name: string, path: string): VolumeMount => ({
  path,
  readOnly: true,
  volume: Volume.fromConfigMap(scope, `${id}-volume`, ConfigMap.fromConfigMapName(scope, id, name), { name: id }),
})

/** Beside /tmp and the files of the settings. */
const MOUNTS: Readonly<Record<Workload, (place: Place) => readonly VolumeMount[]>> = {
  sync: (place) => {
    const { cacheClaim } = place.settings
    return [
      {
        path: CACHE_FOLDER,
        volume: cacheClaim === undefined ? cache(place, 'sync') : claimed(place, 'cache', cacheClaim),
      },
    ]
  },
  controllers: ({ scope, settings }) => providerMounts(scope, settings),
  artifacts: (place) => {
    const claim = place.settings.artifacts?.source.claim
    return claim === undefined
      ? [{ path: CACHE_FOLDER, volume: cache(place, 'artifacts') }]
      : [{ path: ARTIFACTS_FOLDER, readOnly: true, volume: claimed(place, 'artifacts', claim) }]
  },
  console: (place) => {
    const { scope, settings } = place
    const { tlsSecret, clientSecret, clusters } = settings.console ?? {}
    const { tls, client, clusters: kubeconfigs } = CONSOLE_FOLDERS
    return [
      ...(tlsSecret === undefined
        ? []
        : [{ path: tls, secret: tlsSecret, id: 'console-tls', only: ['tls.crt', 'tls.key'] }]),
      ...(clientSecret === undefined
        ? []
        : [{ path: client, secret: clientSecret, id: 'console-client', only: ['client-secret'] }]),
      ...(clusters === undefined
        ? []
        : [{ path: kubeconfigs, secret: clusters, id: 'console-clusters', only: ['kubeconfig'] }]),
    ]
      .map(({ path, secret, id, only }): VolumeMount => ({
        path,
        readOnly: true,
        volume: secretVolume(scope, id, secret, only),
      }))
      .concat(
        settings.history?.console === true
          ? [
              {
                path: HISTORY_FOLDER,
                readOnly: true,
                volume: claimed(place, 'console-history', settings.history.claim),
              },
            ]
          : [],
      )
  },
  history: (place) => {
    const { claim, clusters } = place.settings.history ?? {}
    return [
      ...(claim === undefined ? [] : [{ path: HISTORY_FOLDER, volume: claimed(place, 'history', claim) }]),
      ...(clusters === undefined
        ? []
        : [
            {
              path: HISTORY_CLUSTERS,
              readOnly: true,
              volume: secretVolume(place.scope, 'history-clusters', clusters.secret, ['kubeconfig']),
            },
          ]),
    ]
  },
  approver: () => [],
  defender: () => [],
  // The socket that it shares with the process beside it comes with that process.
  cluster: ({ scope, settings }) => [
    ...(settings.controlPlanes?.kubernetes === undefined
      ? []
      : [configMapMount(scope, 'versions', CONTROL_PLANE_VERSIONS, VERSIONS_FOLDER)]),
    ...(settings.clusterPrograms === undefined
      ? []
      : [configMapMount(scope, 'in-clusters', CLUSTER_PROGRAMS, IN_CLUSTERS_FOLDER)]),
    ...artifactsAuthorityMount(scope, 'artifacts-authority', settings),
  ],
}
