// Which workloads each program makes, and of what form: every field that it may set, by place. What is not listed is refused, also what a later Kubernetes adds.
// Admission policies are made from this table, and test/attacks walks it. What a commit declares is in src/api/ordinary-pods.ts.
import { API_GROUP } from '#api/kind.ts'
import { ANNOTATIONS, PROBES_NAMESPACE, RENDER_ACCOUNT, RENDER_NAMESPACE } from '#api/names.ts'

type Literal = string | number | boolean

/** A value that a field must have, as it is or left out where `whenAbsent` is that value. */
export interface Fixed {
  readonly field: string
  readonly is: Literal
  /** What the field counts as when it is left out. */
  readonly whenAbsent: Literal
}

export interface FieldsOf {
  readonly fields: readonly string[]
  readonly fixed?: readonly Fixed[]
}

export interface ContainersForm extends FieldsOf {
  /** `containers` alone, or the first ones too. */
  readonly lists: readonly ('containers' | 'initContainers')[]
  readonly most?: number
  readonly security: FieldsOf
  readonly ports?: readonly string[]
  readonly mounts: readonly string[]
  /** Fields of checks; they name no host. */
  readonly probes?: readonly string[]
  /** The first word of `command`; left out: any, where `command` is listed. */
  readonly programs?: readonly string[]
  /** Names of variables; values come from the text, a field of the pod or a ConfigMap. */
  readonly variables?: readonly string[]
  /** Whether images are those of the version file; else it runs any, and has nothing else. */
  readonly imagesOfVersionFile: boolean
}

export interface PodForm extends FieldsOf {
  /** Accounts of the namespace; all others have rights. */
  readonly accounts: readonly string[]
  /** An administrator sets them; the program leaves them as they are. */
  readonly kept: readonly string[]
  /** Of the template; others are left unchanged. */
  readonly annotations: readonly string[]
  readonly security: FieldsOf
  readonly volumes: readonly string[]
  /** What else must hold, in CEL over `variables.pod`. */
  readonly also?: readonly string[]
  readonly containers: ContainersForm
}

export interface WorkloadForm {
  readonly program: 'cluster' | 'sync' | 'controllers'
  readonly policy: string
  /** For messages and documents. */
  readonly what: string
  /** Namespaces by name, or all with a label whose value is `true`. */
  readonly where: { readonly names: readonly string[] } | { readonly label: string }
  /** Fields of the spec by resource. */
  readonly resources: Readonly<Partial<Record<'deployments' | 'statefulsets' | 'jobs' | 'pods', readonly string[]>>>
  readonly pod: PodForm
}

/** With what servers fill in. */
const DEFAULTED = [
  'automountServiceAccountToken',
  'dnsPolicy',
  'enableServiceLinks',
  'restartPolicy',
  'schedulerName',
  'securityContext',
  'serviceAccount',
  'serviceAccountName',
  'terminationGracePeriodSeconds',
] as const
const DEFAULTED_OF_CONTAINER = [
  'image',
  'imagePullPolicy',
  'name',
  'resources',
  'securityContext',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'volumeMounts',
] as const
const JOB_FIELDS = [
  'activeDeadlineSeconds',
  'backoffLimit',
  'completionMode',
  'completions',
  'manualSelector',
  'parallelism',
  'podReplacementPolicy',
  'selector',
  'suspend',
  'template',
  'ttlSecondsAfterFinished',
] as const

const NO_TOKEN: readonly Fixed[] = [
  { field: 'automountServiceAccountToken', is: false, whenAbsent: true },
  { field: 'enableServiceLinks', is: false, whenAbsent: true },
  { field: 'schedulerName', is: 'default-scheduler', whenAbsent: 'default-scheduler' },
]
const NOT_ROOT: FieldsOf = {
  fields: ['fsGroup', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile'],
  fixed: [
    { field: 'runAsNonRoot', is: true, whenAbsent: false },
    { field: 'seccompProfile.type', is: 'RuntimeDefault', whenAbsent: '' },
  ],
}
/** `capabilities` only drop, and all of them. */
const CONFINED: FieldsOf = {
  fields: ['allowPrivilegeEscalation', 'capabilities', 'readOnlyRootFilesystem'],
  fixed: [
    { field: 'allowPrivilegeEscalation', is: false, whenAbsent: true },
    { field: 'readOnlyRootFilesystem', is: true, whenAbsent: false },
  ],
}

const controlPlanes: WorkloadForm = {
  program: 'cluster',
  policy: 'kubenode-control-plane-pods',
  what: 'programs of control planes',
  where: { label: ANNOTATIONS.controlPlane },
  resources: {
    deployments: [
      'minReadySeconds',
      'paused',
      'progressDeadlineSeconds',
      'replicas',
      'revisionHistoryLimit',
      'selector',
      'strategy',
      'template',
    ],
    statefulsets: [
      'minReadySeconds',
      'persistentVolumeClaimRetentionPolicy',
      'podManagementPolicy',
      'replicas',
      'revisionHistoryLimit',
      'selector',
      'serviceName',
      'template',
      'updateStrategy',
      'volumeClaimTemplates',
    ],
    jobs: JOB_FIELDS,
  },
  pod: {
    fields: [...DEFAULTED, 'containers', 'imagePullSecrets', 'initContainers', 'topologySpreadConstraints', 'volumes'],
    fixed: [...NO_TOKEN, { field: 'dnsPolicy', is: 'ClusterFirst', whenAbsent: 'ClusterFirst' }],
    accounts: ['', 'default'],
    kept: ['affinity', 'dnsConfig', 'nodeSelector', 'priorityClassName', 'runtimeClassName', 'tolerations'],
    annotations: ['kubenode.io/credentials'],
    security: NOT_ROOT,
    // All of them are of the namespace, which holds one control plane and nothing else.
    volumes: ['configMap', 'emptyDir', 'persistentVolumeClaim', 'secret'],
    containers: {
      lists: ['containers', 'initContainers'],
      fields: [...DEFAULTED_OF_CONTAINER, 'command', 'env', 'livenessProbe', 'ports', 'readinessProbe', 'startupProbe'],
      security: CONFINED,
      ports: ['containerPort', 'name', 'protocol'],
      mounts: ['mountPath', 'name', 'readOnly'],
      probes: [
        'failureThreshold',
        'httpGet',
        'initialDelaySeconds',
        'periodSeconds',
        'successThreshold',
        'timeoutSeconds',
      ],
      programs: ['etcd', 'etcdctl', 'etcdutl', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'],
      variables: ['CLUSTER_MEMBERS', 'CLUSTER_STATE', 'ETCDCTL_API', 'POD_NAME'],
      imagesOfVersionFile: true,
    },
  },
}

const LONGEST_SECONDS = 3_600
/** Of everything that belongs to one render. */
export const RENDER_PREFIX = 'render-'

const inputOf = `v.?projected.?sources.orValue([]).all(s, dyn(s).all(k, k in ['configMap']) && s.?configMap.?name.orValue('').startsWith('${RENDER_PREFIX}'))`

const renders: WorkloadForm = {
  program: 'sync',
  policy: 'kubenode-render',
  what: 'Jobs that render a commit',
  where: { names: [RENDER_NAMESPACE] },
  resources: { jobs: JOB_FIELDS },
  pod: {
    fields: [...DEFAULTED, 'containers', 'dnsConfig', 'nodeSelector', 'tolerations', 'volumes'],
    fixed: [
      ...NO_TOKEN,
      { field: 'restartPolicy', is: 'Never', whenAbsent: '' },
      { field: 'dnsPolicy', is: 'None', whenAbsent: '' },
    ],
    accounts: [RENDER_ACCOUNT],
    kept: [],
    annotations: [],
    security: { ...NOT_ROOT, fields: NOT_ROOT.fields.filter((f) => f !== 'fsGroup') },
    volumes: ['emptyDir', 'projected'],
    also: [
      `variables.pod.?securityContext.?runAsUser.orValue(0) > 0`,
      // Not our own cordon, and not all taints: a node that is drained or kept free is left.
      `variables.pod.?tolerations.orValue([]).all(t, t.?key.orValue('') != '' && !t.key.startsWith('${API_GROUP}/'))`,
      `variables.pod.?volumes.orValue([]).all(v, (!has(v.projected) || (${inputOf})) && (!has(v.emptyDir) || v.?emptyDir.?medium.orValue('') == 'Memory'))`,
      'variables.containers.all(c, has(c.resources.limits.memory) && has(c.resources.limits.cpu))',
      `variables.containers.all(c, c.?args.orValue([]).size() == 2 && c.args[0] == 'render-job')`,
    ],
    containers: {
      lists: ['containers'],
      most: 1,
      fields: [...DEFAULTED_OF_CONTAINER, 'args'],
      security: CONFINED,
      mounts: ['mountPath', 'name', 'readOnly'],
      // Elsewhere sync runs any, and here none has a token, a network or a node's power.
      imagesOfVersionFile: false,
    },
  },
}

/** With it the Jobs above run once, and end. */
export const RUNS_ONCE: readonly string[] = [
  'object.spec.?parallelism.orValue(1) == 1',
  'object.spec.?completions.orValue(1) == 1',
  'object.spec.?backoffLimit.orValue(6) == 0',
  'object.spec.?manualSelector.orValue(false) == false',
  'object.spec.?activeDeadlineSeconds.orValue(0) > 0',
  `object.spec.?activeDeadlineSeconds.orValue(0) <= ${LONGEST_SECONDS}`,
  'object.metadata.?ownerReferences.orValue([]).size() == 0',
  'has(object.spec.ttlSecondsAfterFinished)',
  `object.spec.?ttlSecondsAfterFinished.orValue(0) <= ${LONGEST_SECONDS}`,
]

/** Past the scheduler onto a node of its choice: neither a cordon nor a taint is a reason not to inspect. Nothing of the cluster's is in it. */
const probes: WorkloadForm = {
  program: 'controllers',
  policy: 'kubenode-probe-pods',
  what: 'pods that inspect a step of a rollout',
  where: { names: [PROBES_NAMESPACE] },
  resources: { pods: [] },
  pod: {
    // With what the server fills in.
    fields: [
      ...DEFAULTED,
      'activeDeadlineSeconds',
      'containers',
      'nodeName',
      'preemptionPolicy',
      'priority',
      'priorityClassName',
      'tolerations',
      'volumes',
    ],
    fixed: NO_TOKEN,
    accounts: ['', 'default'],
    kept: [],
    // Of admission itself.
    annotations: ['kubernetes.io/limit-ranger', 'openshift.io/scc', 'security.openshift.io/validated-scc-subject-type'],
    security: {
      fields: ['fsGroup', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile'],
      fixed: [{ field: 'runAsNonRoot', is: true, whenAbsent: false }],
    },
    volumes: [],
    // A class of Kubernetes itself evicts all others; a default one of the cluster is filled in.
    also: [`!variables.pod.?priorityClassName.orValue('').startsWith('system-')`],
    containers: {
      lists: ['containers'],
      most: 1,
      fields: [...DEFAULTED_OF_CONTAINER, 'command', 'readinessProbe'],
      security: {
        fields: [...CONFINED.fields, 'seccompProfile'],
        fixed: [{ field: 'allowPrivilegeEscalation', is: false, whenAbsent: true }],
      },
      mounts: [],
      probes: [
        'failureThreshold',
        'initialDelaySeconds',
        'periodSeconds',
        'successThreshold',
        'tcpSocket',
        'timeoutSeconds',
      ],
      imagesOfVersionFile: false,
    },
  },
}

export const WORKLOAD_FORMS = { controlPlanes, renders, probes } as const
