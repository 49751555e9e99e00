// Controllers, approver and Defender of the hub's Clusters: one Deployment each, whose replicas share the Clusters. Each has an account of its own that reads the
// kubeconfigs of its program alone.
import { Chart, Size } from 'cdk8s'
import {
  Cpu,
  Deployment,
  DeploymentStrategy,
  EnvFieldPaths,
  EnvValue,
  ImagePullPolicy,
  k8s,
  LabelSelector,
  PercentOrAbsolute,
  ServiceAccount,
} from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { HOSTED_PROGRAMS, type HostedProgram, hostedWorkload, SYSTEM_NAMESPACE } from '#api/names.ts'
import { hostedLabelsOf, hostedSelectorOf } from './labels.ts'
import {
  amendPods,
  containerSecurity,
  digestOf,
  GRACE,
  podSecurity,
  priorityOf,
  probe,
  PROGRESS,
  temporary,
  tolerate,
} from './pods.ts'
import { hostedArgsOf, hostedFilesOf, PORTS } from './programs.ts'
import { imageOf, type InstallSettings } from './settings.ts'
import { artifactsAuthorityMount, configMounts, providerMounts } from './workloads.ts'

const NAMESPACE = SYSTEM_NAMESPACE
/** Of the program that starts the others. */
const OWN_HEAP_MIB = 128

export class HostedProgramsChart extends Chart {
  constructor(scope: Construct, settings: InstallSettings) {
    super(scope, 'hosted', { disableResourceNameHashes: true })
    if (!settings.roles.includes('hub') || settings.clusterPrograms === undefined) return
    for (const program of HOSTED_PROGRAMS) {
      this.#around(program, settings)
      this.#deployment(program, settings)
    }
  }

  #around(program: HostedProgram, { version }: InstallSettings): void {
    const metadata = { name: hostedWorkload(program), namespace: NAMESPACE, labels: hostedLabelsOf(program, version) }
    new k8s.KubeServiceAccount(this, `${program}-account`, { metadata, automountServiceAccountToken: false })
    new k8s.KubePodDisruptionBudget(this, `${program}-budget`, {
      metadata,
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: hostedSelectorOf(program) },
      },
    })
  }

  #deployment(program: HostedProgram, settings: InstallSettings): void {
    const { version, replicas, clusterPrograms } = settings
    if (clusterPrograms === undefined) return
    const { cpuMilli, memoryMiB } = clusterPrograms
    const name = hostedWorkload(program)
    const labels = hostedLabelsOf(program, version)
    const deployment = new Deployment(this, program, {
      metadata: { name, namespace: NAMESPACE, labels },
      replicas,
      podMetadata: { labels },
      select: false,
      // A new pod takes its Clusters before an old one ends.
      strategy: DeploymentStrategy.rollingUpdate({
        maxSurge: PercentOrAbsolute.absolute(1),
        maxUnavailable: PercentOrAbsolute.absolute(0),
      }),
      progressDeadline: PROGRESS,
      terminationGracePeriod: GRACE,
      serviceAccount: ServiceAccount.fromServiceAccountName(this, `${program}-own-account`, name),
      automountServiceAccountToken: false,
      securityContext: podSecurity,
    })
    deployment.select(LabelSelector.of({ labels: hostedSelectorOf(program) }))
    tolerate(deployment, settings)
    const files = hostedFilesOf(program, settings)
    deployment.addContainer({
      name: 'hosted',
      image: imageOf(settings),
      imagePullPolicy: ImagePullPolicy.IF_NOT_PRESENT,
      args: [...hostedArgsOf(program, settings)],
      ports: (['health', 'metrics'] as const).map((port) => ({ name: port, number: PORTS[port] })),
      envVariables: {
        NODE_OPTIONS: { value: `--max-old-space-size=${OWN_HEAP_MIB}` },
        POD_IP: EnvValue.fromFieldRef(EnvFieldPaths.POD_IP),
      },
      volumeMounts: [
        { path: '/tmp', volume: temporary(deployment) },
        ...configMounts(this, `hosted-${program}`, [...files.keys()]),
        ...(program === 'controllers'
          ? [
              ...providerMounts(this, settings, 'hosted'),
              ...artifactsAuthorityMount(this, 'hosted-artifacts-authority', settings),
            ]
          : []),
      ],
      startup: probe('/healthz', { period: 2, failures: 60 }),
      liveness: probe('/healthz', { period: 10, failures: 6 }),
      readiness: probe('/readyz', { period: 5, failures: 3 }),
      resources: {
        cpu: { request: Cpu.millis(cpuMilli) },
        memory: { request: Size.mebibytes(Math.ceil(memoryMiB / 4)), limit: Size.mebibytes(memoryMiB) },
      },
      securityContext: containerSecurity,
    })
    amendPods(
      deployment,
      {
        selector: hostedSelectorOf(program),
        priority: priorityOf(program, settings),
        hasToken: true,
        digest: files.size === 0 ? undefined : digestOf(files),
      },
      settings,
    )
  }
}
