// What holds the approver to its work, and everybody else off what it records: who is which machine's agent.
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import { API_GROUP } from '#api/kind.ts'
import { all, any, quoted, valueOf, type AdmissionPolicy } from './policy.ts'
import { accountUserOf, userOf } from './system.ts'

const APPROVERS = [userOf('approver'), accountUserOf('approver')].map(quoted).join(', ')

/** No program has it: who may let a key come back is a person. */
const mayReadmit = `authorizer.group(${quoted(API_GROUP)}).resource('machines').subresource('readmit').check('create').allowed()`

/** To refuse a key and to let one come back are two rights; neither is a program's. */
const mayRevoke = `authorizer.group(${quoted(API_GROUP)}).resource('machines').subresource('revoke').check('create').allowed()`

/** Who holds a machine's identity is on record in one annotation: who could write it could be given the machine. */
const agentKeys: AdmissionPolicy = {
  name: 'kubenode-agent-keys',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machines'] }],
  matchConditions: [],
  variables: [],
  validations: [
    {
      expression: any(
        `${valueOf('object', 'annotations', ANNOTATIONS.readmit)} == ${valueOf('oldObject', 'annotations', ANNOTATIONS.readmit)}`,
        mayReadmit,
      ),
      message: `the annotation ${ANNOTATIONS.readmit} needs the right to create machines/readmit`,
    },
    {
      expression: any(
        `${valueOf('object', 'annotations', ANNOTATIONS.revoked)} == ${valueOf('oldObject', 'annotations', ANNOTATIONS.revoked)}`,
        mayRevoke,
      ),
      message: `the annotation ${ANNOTATIONS.revoked} needs the right to create machines/revoke`,
    },
    {
      expression: any(
        `${valueOf('object', 'annotations', ANNOTATIONS.agentKey)} == ${valueOf('oldObject', 'annotations', ANNOTATIONS.agentKey)}`,
        `request.userInfo.username in [${APPROVERS}]`,
        mayReadmit,
      ),
      message: `the annotation ${ANNOTATIONS.agentKey} belongs to the approver; to change it needs the right to create machines/readmit`,
    },
  ],
}

const kept = (field: 'labels' | 'finalizers' | 'ownerReferences', otherwise: string): string =>
  `object.metadata.?${field}.orValue(${otherwise}) == oldObject.metadata.?${field}.orValue(${otherwise})`
const isJoinToken = (object: 'object' | 'oldObject'): string =>
  all(
    `${valueOf(object, 'labels', LABELS.joinToken)} == 'true'`,
    any(`request.namespace != 'kube-system'`, `${object}.?type.orValue('') == 'bootstrap.kubernetes.io/token'`),
  )

/** Of Machines it writes one annotation, of Secrets it makes and deletes join tokens: roles can say neither. */
const approverWrites: AdmissionPolicy = {
  name: 'kubenode-approver',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machines'] },
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['secrets'] },
  ],
  matchConditions: [{ name: 'the-approver', expression: `request.userInfo.username in [${APPROVERS}]` }],
  variables: [],
  validations: [
    {
      expression: any(
        `request.resource.resource != 'machines'`,
        all(
          `request.operation == 'UPDATE'`,
          'object.spec == oldObject.spec',
          kept('labels', '{}'),
          kept('finalizers', '[]'),
          kept('ownerReferences', '[]'),
        ),
      ),
      message: 'the approver changes nothing of a Machine but annotations',
    },
    {
      expression: any(
        `request.resource.resource != 'secrets'`,
        all(`request.operation != 'DELETE'`, isJoinToken('object')),
        all(`request.operation == 'DELETE'`, isJoinToken('oldObject')),
      ),
      message: 'the approver makes and deletes join tokens, and no other Secrets',
    },
  ],
}

export const approverPolicies: readonly AdmissionPolicy[] = [agentKeys, approverWrites]
