// The pod fields that affect only the pod's own containers. Anything not listed, including fields of a later Kubernetes, counts as host access: a cluster's
// installer has to list such a workload for git. Admission policy kubenode-declared is generated from the same lists.

/** Fields of a pod and of a container's security context: ordinary if false. */
export const POWERS_WHEN_TRUE = ['hostNetwork', 'hostPID', 'hostIPC', 'privileged'] as const

/** All other fields are accepted unchanged, except `securityContext`, `volumes`, containers, the account, and references to Secrets. */
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

/** Profiles must be the runtime's default, and capabilities may only be dropped. */
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

/** Excludes drivers, folders and disks of the node. */
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

/** A probe that names a host makes the node send requests there. */
export const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const
export const HOOKS = ['postStart', 'preStop'] as const
export const ASKS = ['httpGet', 'tcpSocket'] as const

/**
 * Allowed prefixes of pod template annotations. Runtimes, network and device plugins act on others with host access: Multus, CDI, NRI, CRI-O, Kata, AppArmor in
 * its old form. That list is open-ended, so this is an allow-list.
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

/** A pod with a priority class evicts others, and a runtime class picks its runtime. Servers set zero by default. */
export const MAX_PRIORITY = 0
/** A token for another audience is a credential outside the cluster. A server leaves the audience out, or sets its own. */
export const TOKEN_FIELDS = ['expirationSeconds', 'path'] as const

const [BEGIN, END] = ['<!-- generated from src/api/ordinary-pods.ts -->', '<!-- end -->'] as const
/** A page with these two marks, with generated text between them. */
export const withOrdinaryPods = (page: string): string => {
  const [before = '', rest = ''] = page.split(BEGIN)
  return [before, BEGIN, '\n', ordinaryText(), '\n', END, rest.slice(rest.indexOf(END) + END.length)].join('')
}

const codes = (words: readonly string[]): string => words.map((w) => `\`${w}\``).join(', ')
/** What a workload from git may use without being listed. */
const ordinaryText = (): string =>
  [
    `Ordinary volumes: ${codes(VOLUME_FIELDS.filter((f) => f !== 'name'))}; of projected ones ${codes(PROJECTED_FIELDS)}, with tokens for the API server alone.`,
    `Ordinary annotations of pods begin with ${codes(ORDINARY_ANNOTATIONS)}.`,
    `Not ordinary are, among all others, priority classes and priorities above ${MAX_PRIORITY}, runtime classes, tokens for another audience, ports of the node, capabilities that are added, and profiles other than \`${ORDINARY_PROFILE}\`.`,
  ].join('\n')

/** Each needs an authorizer check, whose number a policy limits. */
export const MAX_SECRETS = 12

/** Workload kinds, and the path of their pod. */
export const POD_PATHS: Readonly<Record<string, readonly string[]>> = {
  deployments: ['spec', 'template'],
  statefulsets: ['spec', 'template'],
  daemonsets: ['spec', 'template'],
  replicasets: ['spec', 'template'],
  replicationcontrollers: ['spec', 'template'],
  jobs: ['spec', 'template'],
  cronjobs: ['spec', 'jobTemplate', 'spec', 'template'],
  podtemplates: ['template'],
  pods: [],
}
