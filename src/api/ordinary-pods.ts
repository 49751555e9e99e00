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
  'overhead',
  'preemptionPolicy',
  'priority',
  'priorityClassName',
  'readinessGates',
  'resources',
  'restartPolicy',
  'runtimeClassName',
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

/** Annotations of a pod template with this prefix switch off what confines its containers. */
export const UNCONFINED_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
/** Classes of Kubernetes itself evict all others. */
export const SYSTEM_CLASS_PREFIX = 'system-'

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
