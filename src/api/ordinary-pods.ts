// Which fields of a pod give it nothing but its own containers. What is not listed, also what a later Kubernetes adds, counts as power over the node: the
// installer of a cluster has to list such a workload for git. Admission policy kubenode-declared is made from the same lists.

/** Of a pod and of the security of a container: ordinary when they are false. */
export const POWERS_WHEN_TRUE = ['hostNetwork', 'hostPID', 'hostIPC', 'privileged'] as const

/** All but `securityContext`, `volumes`, containers, the account and what names Secrets are taken as they are. */
export const POD_FIELDS = [
  'activeDeadlineSeconds',
  'affinity',
  'automountServiceAccountToken',
  'containers',
  'dnsConfig',
  'dnsPolicy',
  'enableServiceLinks',
  'hostAliases',
  'hostname',
  'hostUsers',
  'imagePullSecrets',
  'initContainers',
  'nodeSelector',
  'os',
  'preemptionPolicy',
  'priority',
  'readinessGates',
  'resources',
  'restartPolicy',
  'schedulerName',
  'schedulingGates',
  'securityContext',
  'serviceAccount',
  'serviceAccountName',
  'setHostnameAsFQDN',
  'shareProcessNamespace',
  'subdomain',
  'terminationGracePeriodSeconds',
  'tolerations',
  'topologySpreadConstraints',
  'volumes',
] as const

export const CONTAINER_FIELDS = [
  'args',
  'command',
  'env',
  'envFrom',
  'image',
  'imagePullPolicy',
  'lifecycle',
  'livenessProbe',
  'name',
  'ports',
  'readinessProbe',
  'resizePolicy',
  'resources',
  'restartPolicy',
  'securityContext',
  'startupProbe',
  'stdin',
  'stdinOnce',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'tty',
  'volumeMounts',
  'workingDir',
] as const

/** Without `hostPort` and `hostIP`. */
export const PORT_FIELDS = ['containerPort', 'name', 'protocol'] as const

/** Profiles have to be that of the runtime, and capabilities are only dropped. */
export const SECURITY_FIELDS = [
  'allowPrivilegeEscalation',
  'appArmorProfile',
  'capabilities',
  'fsGroup',
  'fsGroupChangePolicy',
  'readOnlyRootFilesystem',
  'runAsGroup',
  'runAsNonRoot',
  'runAsUser',
  'seccompProfile',
  'supplementalGroups',
  'supplementalGroupsPolicy',
] as const
export const PROFILES = ['appArmorProfile', 'seccompProfile'] as const
export const ORDINARY_PROFILE = 'RuntimeDefault'

/** Drivers, folders and disks of the node are not among them. */
export const VOLUME_FIELDS = [
  'configMap',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'name',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const
export const PROJECTED_FIELDS = [
  'clusterTrustBundle',
  'configMap',
  'downwardAPI',
  'secret',
  'serviceAccountToken',
] as const
/** A claim that names no volume and copies nothing. */
export const CLAIM_FIELDS = ['accessModes', 'resources', 'storageClassName', 'volumeMode'] as const

/** A check that names a host makes the node ask there. */
export const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const
export const HOOKS = ['postStart', 'preStop'] as const
export const ASKS = ['httpGet', 'tcpSocket'] as const

/**
 * How annotations of a pod template may begin. Runtimes and plugins of networks and devices act on others with the power of the node: Multus, CDI, NRI, CRI-O,
 * Kata, AppArmor in its old form. Their list has no end, so it is not this one.
 */
export const ORDINARY_ANNOTATIONS = [
  'app.kubernetes.io/',
  'checksum/',
  'cluster-autoscaler.kubernetes.io/',
  'helm.sh/',
  'kubectl.kubernetes.io/',
  'kubenode.io/',
  'meta.helm.sh/',
  'prometheus.io/',
] as const

/** A pod with a class evicts others, and a runtime class names what runs it. Zero is what a server gives each pod. */
export const MAX_PRIORITY = 0
/** A token for another audience is a credential outside of the cluster. A server leaves it out, or names itself. */
export const TOKEN_FIELDS = ['expirationSeconds', 'path'] as const

const [BEGIN, END] = ['<!-- generated from src/api/ordinary-pods.ts -->', '<!-- end -->'] as const
/** A page with these two marks, and the text below between them. */
export const withOrdinaryPods = (page: string): string => {
  const [before = '', rest = ''] = page.split(BEGIN)
  return [before, BEGIN, '\n', ordinaryText(), '\n', END, rest.slice(rest.indexOf(END) + END.length)].join('')
}

const codes = (words: readonly string[]): string => words.map((w) => `\`${w}\``).join(', ')
/** What a workload from git may use without a list. */
const ordinaryText = (): string =>
  [
    `Ordinary volumes: ${codes(VOLUME_FIELDS.filter((f) => f !== 'name'))}; of projected ones ${codes(PROJECTED_FIELDS)}, with tokens for the API server alone.`,
    `Ordinary annotations of pods begin with ${codes(ORDINARY_ANNOTATIONS)}.`,
    `Not ordinary are, among all others, priority classes and priorities above ${MAX_PRIORITY}, runtime classes, tokens for another audience, ports of the node, capabilities that are added, and profiles other than \`${ORDINARY_PROFILE}\`.`,
  ].join('\n')

/** Each takes a question to the authorizer, whose number is bounded for a policy. */
export const MAX_SECRETS = 12

/** Workloads, and where their pod is. */
export const POD_PATHS: Readonly<Record<string, readonly string[]>> = {
  deployments: ['spec', 'template'],
  statefulsets: ['spec', 'template'],
  daemonsets: ['spec', 'template'],
  replicasets: ['spec', 'template'],
  replicationcontrollers: ['spec', 'template'],
  jobs: ['spec', 'template'],
  cronjobs: ['spec', 'jobTemplate', 'spec', 'template'],
  pods: [],
}
