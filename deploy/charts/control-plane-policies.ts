// Where control planes of Clusters may be run as workloads: only in namespaces that the program of clusters made for them, and with no right elsewhere. Roles alone
// cannot say so: the names of these namespaces are not known beforehand.
import { API_GROUP } from '#api/kind.ts'
import { ANNOTATIONS, CLUSTER_LEAVES, CONTROL_PLANE_ROLE } from '#api/names.ts'
import { all, any, isProgram, part, quoted, valueOf, type AdmissionPolicy } from './policy.ts'
import { accountOf, userOf } from './system.ts'

const LABEL = ANNOTATIONS.controlPlane
const isOurs = (object: 'object' | 'oldObject'): string => `${valueOf(object, 'labels', LABEL)} == 'true'`
const OWN_SUBJECTS = [userOf('cluster'), accountOf('cluster')].map(quoted).join(', ')

export const controlPlaneNamespaces: AdmissionPolicy = {
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
  matchConditions: [
    { name: 'by-the-program', expression: isProgram('cluster') },
    // In the control planes that it made it is an administrator, and brings these policies there itself; on the hub it is none.
    { name: 'not-in-its-own', expression: `!('system:masters' in request.userInfo.?groups.orValue([]))` },
  ],
  variables: [{ name: 'isNamespace', expression: `request.resource.resource == 'namespaces'` }],
  validations: [
    {
      expression: any(
        '!variables.isNamespace',
        all(
          `${part('name')}.startsWith('kc-')`,
          any('object == null', isOurs('object')),
          any('oldObject == null', isOurs('oldObject')),
        ),
      ),
      message: 'the program of clusters writes only namespaces that it made for control planes',
    },
    {
      expression: any(
        'variables.isNamespace',
        all(
          `${part('namespace')}.startsWith('kc-')`,
          `namespaceObject != null && namespaceObject.metadata.?labels.orValue({})[?${quoted(LABEL)}].orValue('') == 'true'`,
          'object != null && oldObject == null',
          `object.roleRef.kind == 'ClusterRole' && object.roleRef.name == ${quoted(CONTROL_PLANE_ROLE)}`,
          `object.?subjects.orValue([]).all(s, s.name in [${OWN_SUBJECTS}])`,
        ),
      ),
      message: `the program of clusters binds ${CONTROL_PLANE_ROLE} to itself, in namespaces that it made for control planes, and nothing else`,
    },
  ],
}

/** It lets the last machines of a cluster go. Who may lift a protection for a while may not do that. */
export const leavingClusters: AdmissionPolicy = {
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
