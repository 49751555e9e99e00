// What the program of clusters makes on the hub: namespaces for control planes, and in them the objects of one. Roles cannot say it: the names of these namespaces
// are not known beforehand, and a right to make workloads is a right to every field of a pod.
import { API_GROUP } from '#api/kind.ts'
import {
  ANNOTATIONS,
  CLUSTER_LEAVES,
  CLUSTER_PROGRAMS,
  CONTROL_PLANE_PREFIX,
  CONTROL_PLANE_ROLE,
  CONTROL_PLANE_VERSIONS,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { CLAIM_FIELDS } from '#api/ordinary-pods.ts'
import { RESTRICTED } from './labels.ts'
import { CLEANERS } from './lease-policies.ts'
import { all, any, isInstaller, isProgram, operations, part, quoted, valueOf, type AdmissionPolicy } from './policy.ts'
import { accountOf, userOf } from './system.ts'
import { WORKLOAD_FORMS } from './workload-forms.ts'
import { formHolds, formVariables, onlyKeys } from './workload-policies.ts'

const LABEL = ANNOTATIONS.controlPlane
const isOurs = (object: 'object' | 'oldObject'): string => `${valueOf(object, 'labels', LABEL)} == 'true'`
const RESOURCE = 'request.resource.resource'

/** In the control planes that it made it is an administrator, and brings these policies there itself; on the hub it is none. */
const BY_CLUSTER: AdmissionPolicy['matchConditions'] = [
  { name: 'by-the-program', expression: isProgram('cluster') },
  { name: 'not-in-its-own', expression: `!('system:masters' in request.userInfo.?groups.orValue([]))` },
]

/** Whom it may bind its role to: itself, as it runs. A name alone may be that of another kind, or of an account of another namespace. */
const isItself = (subject: string): string =>
  any(
    all(`${subject}.kind == 'User'`, `${subject}.name == ${quoted(userOf('cluster'))}`),
    all(
      `${subject}.kind == 'ServiceAccount'`,
      `${subject}.name == ${quoted(accountOf('cluster'))}`,
      `${subject}.?namespace.orValue('') == ${quoted(SYSTEM_NAMESPACE)}`,
    ),
  )

const RESTRICTED_LABELS = Object.entries(RESTRICTED)
const NAMESPACE_LABELS = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/name',
  'app.kubernetes.io/part-of',
  'kubernetes.io/metadata.name',
  LABEL,
  ...RESTRICTED_LABELS.map(([label]) => label),
]
const isRestricted = (object: 'object' | 'oldObject'): string =>
  all(...RESTRICTED_LABELS.map(([label, level]) => `${valueOf(object, 'labels', label)} == ${quoted(level)}`))
const labels = (object: 'object' | 'oldObject'): string => `${object}.metadata.?labels.orValue({})`
const annotations = (object: 'object' | 'oldObject'): string => `${object}.metadata.?annotations.orValue({})`

/** Other programs of a cluster act on annotations: networks, names, volumes, copies of Secrets. What people wrote stays. */
const annotatesAsItself = any(
  'object == null',
  `${annotations('object')}.all(k, k.startsWith(${quoted(`${API_GROUP}/`)}) || (oldObject != null && k in ${annotations('oldObject')} && oldObject.metadata.annotations[k] == object.metadata.annotations[k]))`,
)

const namespaces: AdmissionPolicy = {
  name: 'kubenode-control-planes',
  rules: [
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['namespaces'] },
    {
      apiGroups: ['rbac.authorization.k8s.io'],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['rolebindings'],
    },
  ],
  matchConditions: BY_CLUSTER,
  variables: [{ name: 'isNamespace', expression: `${RESOURCE} == 'namespaces'` }],
  validations: [
    {
      expression: any(
        '!variables.isNamespace',
        all(
          `${part('name')}.startsWith(${quoted(CONTROL_PLANE_PREFIX)})`,
          any('object == null', isOurs('object')),
          any('oldObject == null', isOurs('oldObject')),
        ),
      ),
      message: 'the program of clusters writes only namespaces that it made for control planes',
    },
    {
      expression: any(
        '!variables.isNamespace',
        'object == null',
        all('oldObject != null', `${labels('object')} == ${labels('oldObject')}`),
        all('oldObject == null', isRestricted('object'), onlyKeys(labels('object'), NAMESPACE_LABELS)),
      ),
      message: 'a namespace of a control plane is made with pod security restricted, and its labels never change',
    },
    {
      expression: any('!variables.isNamespace', annotatesAsItself),
      message: `the program of clusters writes no annotations but those of ${API_GROUP} on namespaces`,
    },
    {
      expression: any(
        'variables.isNamespace',
        all(
          `${part('namespace')}.startsWith(${quoted(CONTROL_PLANE_PREFIX)})`,
          `namespaceObject != null && namespaceObject.metadata.?labels.orValue({})[?${quoted(LABEL)}].orValue('') == 'true'`,
          'object != null && oldObject == null',
          `object.roleRef.kind == 'ClusterRole' && object.roleRef.name == ${quoted(CONTROL_PLANE_ROLE)}`,
          `object.?subjects.orValue([]).all(s, ${isItself('s')})`,
        ),
      ),
      message: `the program of clusters binds ${CONTROL_PLANE_ROLE} to itself, in namespaces that it made for control planes, and nothing else`,
    },
  ],
}

/** Another client that may label namespaces could otherwise open one to privileged pods, or take it out of the policies that go by its label. */
const labelsKept: AdmissionPolicy = {
  name: 'kubenode-control-plane-labels',
  rules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: ['namespaces'] }],
  matchConditions: [{ name: 'of-a-control-plane', expression: isOurs('oldObject') }],
  variables: [],
  validations: [
    {
      expression: any(
        all(
          isOurs('object'),
          ...RESTRICTED_LABELS.map(
            ([label]) => `${valueOf('object', 'labels', label)} == ${valueOf('oldObject', 'labels', label)}`,
          ),
        ),
        isInstaller,
      ),
      message: 'only the installer changes the pod security of a namespace of a control plane, or takes its mark away',
    },
  ],
}

const form = WORKLOAD_FORMS.controlPlanes

const claimHolds = (spec: string, before: string): string =>
  `dyn(${spec}).all(k, k in [${CLAIM_FIELDS.map(quoted).join(', ')}] || (k in dyn(${before}) && dyn(${before})[k] == dyn(${spec})[k]))`

const pods: AdmissionPolicy = {
  name: form.policy,
  rules: [
    {
      apiGroups: ['apps', 'batch'],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['*'],
    },
  ],
  namespacesWith: LABEL,
  matchConditions: BY_CLUSTER,
  variables: formVariables(form),
  validations: [
    {
      expression: `${RESOURCE} in [${Object.keys(form.resources).map(quoted).join(', ')}]`,
      message: `the program of clusters makes ${Object.keys(form.resources).join(', ')}, and no other workloads`,
    },
    ...formHolds(form).map(({ what, expression }) => ({
      expression,
      message: `the program of clusters makes ${form.what} of one form; this one differs in: ${what}`,
    })),
    {
      expression: `object.spec.?volumeClaimTemplates.orValue([]).all(claim, ${claimHolds('claim.?spec.orValue({})', '{}')})`,
      message: 'a claim of a control plane names no volume, and copies nothing',
    },
  ],
}

/** From the version file that people of the hub keep. Split at its quotes, so that a name counts as a whole. */
const images: AdmissionPolicy = {
  name: 'kubenode-control-plane-images',
  parameter: { namespace: SYSTEM_NAMESPACE, name: CONTROL_PLANE_VERSIONS, whenMissing: 'Deny' },
  rules: pods.rules,
  namespacesWith: LABEL,
  matchConditions: BY_CLUSTER,
  variables: [
    { name: 'data', expression: 'params.?data.orValue({})' },
    { name: 'listed', expression: `variables.data.map(k, variables.data[k].split('"'))` },
    {
      name: 'containers',
      expression: ['containers', 'initContainers']
        .map((list) => `object.spec.?template.?spec.?${list}.orValue([])`)
        .join(' + '),
    },
  ],
  validations: [
    {
      expression: `variables.containers.all(c, c.image.contains('@sha256:') && variables.listed.exists(words, c.image in words))`,
      message: `a control plane runs images of the version file alone; copy the file into ConfigMap ${CONTROL_PLANE_VERSIONS} of ${SYSTEM_NAMESPACE}, see docs/operations/control-planes.md`,
    },
  ],
}

const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer']
/** Without `externalIPs` and `externalName`. */
const SERVICE_FIELDS = [
  'allocateLoadBalancerNodePorts',
  'clusterIP',
  'clusterIPs',
  'externalTrafficPolicy',
  'healthCheckNodePort',
  'internalTrafficPolicy',
  'ipFamilies',
  'ipFamilyPolicy',
  'loadBalancerIP',
  'ports',
  'publishNotReadyAddresses',
  'selector',
  'sessionAffinity',
  'type',
]
const SECRET_TYPES = ['Opaque', 'kubenode.io/credentials']

const isNo = (resource: string): string => `${RESOURCE} != ${quoted(resource)}`
const keptOr = (fields: readonly string[]): string =>
  `dyn(object.spec).all(k, k in [${fields.map(quoted).join(', ')}] || (oldObject != null && k in dyn(oldObject.spec) && dyn(oldObject.spec)[k] == dyn(object.spec)[k]))`

const objects: AdmissionPolicy = {
  name: 'kubenode-control-plane-objects',
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] }],
  namespacesWith: LABEL,
  // The namespace itself has the label too; policy kubenode-control-planes judges it. A selector of namespaces lets whatever is in none through, such as permits.
  matchConditions: [
    ...BY_CLUSTER,
    { name: 'in-a-namespace', expression: all(`${part('namespace')} != ''`, isNo('namespaces')) },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        `request.resource.group in ['apps', 'batch', 'rbac.authorization.k8s.io']`,
        ...[
          ['', ['configmaps', 'persistentvolumeclaims', 'resourcequotas', 'secrets', 'services']],
          ['policy', ['poddisruptionbudgets']],
          ['networking.k8s.io', ['networkpolicies']],
          ['events.k8s.io', ['events']],
        ].map(([group, resources]) =>
          all(
            `request.resource.group == ${quoted(String(group))}`,
            `${RESOURCE} in [${(resources as string[]).map(quoted).join(', ')}]`,
          ),
        ),
      ),
      message: 'the program of clusters makes the objects of a control plane in its namespace, and no others',
    },
    {
      expression: any(`request.resource.group == 'events.k8s.io'`, annotatesAsItself),
      message: `the program of clusters writes no annotations but those of ${API_GROUP}`,
    },
    {
      expression: any(
        isNo('services'),
        all(
          keptOr(SERVICE_FIELDS),
          `object.spec.?type.orValue('ClusterIP') in [${SERVICE_TYPES.map(quoted).join(', ')}]`,
          'object.spec.?selector.orValue({}).size() > 0',
        ),
      ),
      message: 'a Service of a control plane selects its pods, and takes no addresses of others',
    },
    {
      expression: any(
        isNo('persistentvolumeclaims'),
        claimHolds('object.spec', 'oldObject == null ? dyn({}) : dyn(oldObject.spec)'),
      ),
      message: 'a claim of a control plane names no volume, and copies nothing',
    },
    {
      expression: any(isNo('secrets'), `object.?type.orValue('Opaque') in [${SECRET_TYPES.map(quoted).join(', ')}]`),
      message: `a Secret of a control plane is of type ${SECRET_TYPES.join(' or ')}`,
    },
  ],
}

const LISTS = [CONTROL_PLANE_VERSIONS, CLUSTER_PROGRAMS]
/**
 * A thief of another program's key who could write the first could run any image as a control plane; the objects of the second are applied to Clusters by their
 * administrator.
 */
const list: AdmissionPolicy = {
  name: 'kubenode-control-plane-list',
  rules: [
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
  ],
  namespaces: [SYSTEM_NAMESPACE],
  matchConditions: [
    {
      name: 'the-list',
      expression: `(object == null ? oldObject : object).metadata.?name.orValue('') in [${LISTS.map(quoted).join(', ')}]`,
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        all(operations('DELETE'), `request.userInfo.username in [${CLEANERS.map(quoted).join(', ')}]`),
        isInstaller,
      ),
      message: `only the installer writes ConfigMap ${LISTS.join(' or ')}; the installer needs the verb install on programs.${API_GROUP}`,
    },
  ],
}

/** It lets the last machines of a cluster go. Who may lift a protection for a while may not do that. */
const leavingClusters: AdmissionPolicy = {
  name: 'kubenode-leaving-clusters',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['operationalholds'] },
  ],
  matchConditions: [
    { name: 'of-a-leaving-cluster', expression: `object.metadata.?name.orValue('') == ${quoted(CLUSTER_LEAVES)}` },
  ],
  variables: [],
  validations: [
    {
      expression: isProgram('cluster'),
      message: `the hold ${CLUSTER_LEAVES} is written by the program of clusters, in a cluster that it deletes`,
    },
  ],
}

export const controlPlanePolicies: readonly AdmissionPolicy[] = [
  namespaces,
  labelsKept,
  pods,
  images,
  objects,
  list,
  leavingClusters,
]
