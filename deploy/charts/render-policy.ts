// Admission policy: what sync makes in the namespace of renders, and nothing else: Jobs of the one form of src/sync/render/job/job-spec.ts, and their input.
// No commit declares anything there. The image is not compared: elsewhere sync runs any, and here none has a token, a network or a node's power.
import { API_GROUP } from '#api/kind.ts'
import { ANNOTATIONS, LABELS, RENDER_ACCOUNT, RENDER_NAMESPACE, SOURCE_USER_PREFIX } from '#api/names.ts'
import { REQUEST_NAMESPACE, all, any, isProgram, operations, quoted, valueOf, type AdmissionPolicy } from './policy.ts'

const LONGEST_SECONDS = 3_600
const NAME_PREFIX = 'render-'

const keysIn = (map: string, fields: readonly string[]): string =>
  `dyn(${map}).all(k, k in [${fields.map(quoted).join(', ')}])`

const JOB = 'object.spec'
const POD = 'object.spec.template.spec'
const CONTAINER = `${POD}.containers[0]`

/** With what a server fills in. */
const JOB_FIELDS = [
  'parallelism',
  'completions',
  'completionMode',
  'backoffLimit',
  'activeDeadlineSeconds',
  'ttlSecondsAfterFinished',
  'podReplacementPolicy',
  'manualSelector',
  'selector',
  'suspend',
  'template',
]
const POD_FIELDS = [
  'restartPolicy',
  'serviceAccountName',
  'serviceAccount',
  'automountServiceAccountToken',
  'enableServiceLinks',
  'dnsPolicy',
  'dnsConfig',
  'terminationGracePeriodSeconds',
  'nodeSelector',
  'tolerations',
  'schedulerName',
  'securityContext',
  'containers',
  'volumes',
]
const CONTAINER_FIELDS = [
  'name',
  'image',
  'imagePullPolicy',
  'args',
  'resources',
  'securityContext',
  'volumeMounts',
  'terminationMessagePath',
  'terminationMessagePolicy',
]

const runsOnce = all(
  keysIn(JOB, JOB_FIELDS),
  `${JOB}.?parallelism.orValue(1) == 1`,
  `${JOB}.?completions.orValue(1) == 1`,
  `${JOB}.?backoffLimit.orValue(6) == 0`,
  `${JOB}.?manualSelector.orValue(false) == false`,
  `${JOB}.?activeDeadlineSeconds.orValue(0) > 0`,
  `${JOB}.?activeDeadlineSeconds.orValue(0) <= ${LONGEST_SECONDS}`,
  `object.metadata.?ownerReferences.orValue([]).size() == 0`,
  `has(object.spec.ttlSecondsAfterFinished)`,
  `${JOB}.?ttlSecondsAfterFinished.orValue(0) <= ${LONGEST_SECONDS}`,
)

/** The namespaces, devices and files of the node are not even named. */
const isPlainPod = all(
  keysIn(POD, POD_FIELDS),
  `${POD}.?restartPolicy.orValue('') == 'Never'`,
  `${POD}.?serviceAccountName.orValue('') == ${quoted(RENDER_ACCOUNT)}`,
  `${POD}.?automountServiceAccountToken.orValue(true) == false`,
  `${POD}.?enableServiceLinks.orValue(true) == false`,
  `${POD}.?dnsPolicy.orValue('') == 'None'`,
  `${POD}.?schedulerName.orValue('default-scheduler') == 'default-scheduler'`,
  // Not our own cordon, and not all taints: a node that is drained or kept free is left.
  `${POD}.?tolerations.orValue([]).all(t, t.?key.orValue('') != '' && !t.key.startsWith('${API_GROUP}/'))`,
  keysIn(`${POD}.?securityContext.orValue({})`, ['runAsNonRoot', 'runAsUser', 'runAsGroup', 'seccompProfile']),
  `${POD}.?securityContext.?runAsNonRoot.orValue(false)`,
  `${POD}.?securityContext.?runAsUser.orValue(0) > 0`,
  `${POD}.?securityContext.?seccompProfile.?type.orValue('') == 'RuntimeDefault'`,
  `${POD}.?volumes.orValue([]).all(v, ${any(
    all(
      keysIn('v', ['name', 'projected']),
      `v.?projected.?sources.orValue([]).all(s, ${keysIn('s', ['configMap'])} && s.?configMap.?name.orValue('').startsWith(${quoted(NAME_PREFIX)}))`,
    ),
    all(keysIn('v', ['name', 'emptyDir']), `v.?emptyDir.?medium.orValue('') == 'Memory'`),
  )})`,
)

const isPlainContainer = all(
  `${POD}.containers.size() == 1`,
  keysIn(CONTAINER, CONTAINER_FIELDS),
  `${CONTAINER}.?args.orValue([]).size() == 2`,
  `${CONTAINER}.args[0] == 'render-job'`,
  `has(${CONTAINER}.resources.limits.memory)`,
  `has(${CONTAINER}.resources.limits.cpu)`,
  keysIn(`${CONTAINER}.?securityContext.orValue({})`, [
    'allowPrivilegeEscalation',
    'readOnlyRootFilesystem',
    'capabilities',
  ]),
  `${CONTAINER}.?securityContext.?allowPrivilegeEscalation.orValue(true) == false`,
  `${CONTAINER}.?securityContext.?readOnlyRootFilesystem.orValue(false)`,
  `${CONTAINER}.?securityContext.?capabilities.?add.orValue([]).size() == 0`,
  `${CONTAINER}.?securityContext.?capabilities.?drop.orValue([]).exists(c, c == 'ALL')`,
)

const isInput = all(
  `object.?immutable.orValue(false)`,
  `object.metadata.?ownerReferences.orValue([]).size() == 1`,
  `object.metadata.ownerReferences[0].kind == 'Job'`,
  `object.metadata.ownerReferences[0].name.startsWith(${quoted(NAME_PREFIX)})`,
)

const isResource = (group: string, resource: string): string =>
  all(`request.resource.group == ${quoted(group)}`, `request.resource.resource == ${quoted(resource)}`)
const IS_JOB = isResource('batch', 'jobs')

/** The one exception of kubenode-accounts and kubenode-declared in this namespace; the policy below says what it is. */
export const makesRender = all(
  `${REQUEST_NAMESPACE} == ${quoted(RENDER_NAMESPACE)}`,
  isProgram('sync'),
  any(IS_JOB, isResource('', 'configmaps')),
)

const ofJobs = (expression: string): string => any(`!(${IS_JOB})`, expression)
const ONLY = `in namespace ${RENDER_NAMESPACE} sync makes Jobs that render a commit, and nothing else`

export const renderPolicy: AdmissionPolicy = {
  name: 'kubenode-render',
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'] }],
  namespaces: [RENDER_NAMESPACE],
  matchConditions: [
    {
      name: 'sync-or-a-source',
      expression: any(isProgram('sync'), `request.userInfo.username.startsWith(${quoted(SOURCE_USER_PREFIX)})`),
    },
  ],
  variables: [],
  validations: [
    {
      expression: all(makesRender, operations('CREATE'), `!has(request.subResource) || request.subResource == ''`),
      message: `${ONLY}; no commit declares anything there`,
    },
    {
      expression: all(
        `object.metadata.?name.orValue('').startsWith(${quoted(NAME_PREFIX)})`,
        `${valueOf('object', 'labels', LABELS.render)} != ''`,
        ...[ANNOTATIONS.commit, ANNOTATIONS.source].map((key) => `${valueOf('object', 'annotations', key)} == ''`),
      ),
      message: `${ONLY}; no commit declares anything there`,
    },
    { expression: ofJobs(runsOnce), message: `${ONLY}: one pod, once, with an end` },
    {
      expression: ofJobs(isPlainPod),
      message: `${ONLY}: without a token, the rights of an account, and what is of the node`,
    },
    {
      expression: ofJobs(isPlainContainer),
      message: `${ONLY}: one container of our program, with limits and without privileges`,
    },
    { expression: any(IS_JOB, isInput), message: `${ONLY}: the input of one, which never changes and goes with it` },
  ],
}
