// Limits the approver to its own work, and keeps all other clients from writing what it records: which agent belongs to which machine.
import {
  AGENT_SIGNER,
  AGENTS_GROUP,
  agentUser,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  DOOR_USER,
  FIELD_MANAGERS,
  JOIN_ACCOUNTS_GROUP,
  LABELS,
  TOKEN_SIGNER,
  joinAccountUser,
} from '#api/names.ts'
import { API_GROUP } from '#api/kind.ts'
import { AGENT_USAGES } from '#identity/agent-request.ts'
import { LONGEST_LIFE_SECONDS } from '#identity/certificate-life.ts'
import {
  REQUEST_NAMESPACE,
  all,
  any,
  isProgram,
  quoted,
  updatesOwnMetricsSecret,
  valueOf,
  type AdmissionPolicy,
} from './policy.ts'

/** No program has this right: only a person may let a revoked key return. */
const mayReadmit = `authorizer.group(${quoted(API_GROUP)}).resource('machines').subresource('readmit').check('create').allowed()`

/** To refuse a key and to let one come back are two rights; neither is a program's. */
const mayRevoke = `authorizer.group(${quoted(API_GROUP)}).resource('machines').subresource('revoke').check('create').allowed()`

/** One annotation records which key holds a machine's identity: a client that could write it could take over the machine. */
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
        isProgram('approver'),
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
    any(`${REQUEST_NAMESPACE} != 'kube-system'`, `${object}.?type.orValue('') == 'bootstrap.kubernetes.io/token'`),
  )
/** With another group a token is worth more: clusters give kubelets of any node to some. */
const joinsAsAgent = any(
  `${REQUEST_NAMESPACE} != 'kube-system'`,
  all(
    `!has(object.stringData)`,
    `'auth-extra-groups' in object.?data.orValue({})`,
    `object.data['auth-extra-groups'] == ${quoted(Buffer.from(BOOTSTRAP_GROUP).toString('base64'))}`,
  ),
)

/** The annotation that it writes on Machines; other programs own all others. */
const OWN_ANNOTATIONS = [ANNOTATIONS.agentKey].map(quoted).join(', ')
const annotationsOf = (object: 'object' | 'oldObject'): string => `${object}.metadata.?annotations.orValue({})`
const annotationsKept = all(
  `${annotationsOf('object')}.all(k, k in [${OWN_ANNOTATIONS}] || (k in ${annotationsOf('oldObject')} && object.metadata.annotations[k] == oldObject.metadata.annotations[k]))`,
  `${annotationsOf('oldObject')}.all(k, k in [${OWN_ANNOTATIONS}] || k in ${annotationsOf('object')})`,
)

/**
 * Leaving a field out removes it when the client is recorded as its writer: a client that could forge this record could make others remove fields that it may
 * not remove itself.
 */
const writersOf = (object: 'object' | 'oldObject'): string =>
  `${object}.metadata.?managedFields.orValue([]).filter(m, m.?manager.orValue('') != ${quoted(FIELD_MANAGERS.approver)})`
const ANNOTATED = `'f:metadata' in m.fieldsV1 && 'f:annotations' in m.fieldsV1['f:metadata']`
const wroteOwn = all(
  'has(m.fieldsV1)',
  ANNOTATED,
  `[${OWN_ANNOTATIONS}].exists(a, ('f:' + a) in m.fieldsV1['f:metadata']['f:annotations'])`,
)
/** Those that had written the annotation lose it to the approver. */
const writersKept = all(
  `${writersOf('oldObject')}.all(m, m in ${writersOf('object')} || (${wroteOwn}))`,
  `${writersOf('object')}.all(n, n in ${writersOf('oldObject')} || ${writersOf('oldObject')}.exists(m, m.?manager == n.?manager && m.?operation == n.?operation && (${wroteOwn})))`,
)

/** Of Machines it writes one annotation, of Secrets it makes and deletes join tokens: roles can say neither. */
const approverWrites: AdmissionPolicy = {
  name: 'kubenode-approver',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machines'] },
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['secrets'] },
  ],
  matchConditions: [{ name: 'the-approver', expression: isProgram('approver') }],
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
      expression: any(`request.resource.resource != 'machines'`, 'oldObject == null', annotationsKept),
      message: `the approver changes no annotation of a Machine but ${ANNOTATIONS.agentKey}`,
    },
    {
      expression: any(`request.resource.resource != 'machines'`, 'oldObject == null', writersKept),
      message: 'the approver changes nothing of what a Machine says of other writers',
    },
    {
      expression: any(
        `request.resource.resource != 'secrets'`,
        updatesOwnMetricsSecret('approver'),
        all(`request.operation != 'DELETE'`, isJoinToken('object'), joinsAsAgent),
        all(`request.operation == 'DELETE'`, isJoinToken('oldObject')),
      ),
      message: 'the approver makes and deletes join tokens, and no other Secrets',
    },
  ],
}

const hasGroup = (group: string): string => `${quoted(group)} in object.spec.?groups.orValue([])`
const askedBy = (prefix: string, group: string): string =>
  all(`object.spec.?username.orValue('').startsWith(${quoted(prefix)})`, hasGroup(group))

/** The open part of a request. CEL cannot read the name in the encoded part: the Defender's webhook does. */
const approvalsOfRequests: AdmissionPolicy = {
  name: 'kubenode-approvals-of-requests',
  rules: [
    {
      apiGroups: ['certificates.k8s.io'],
      apiVersions: ['*'],
      operations: ['UPDATE'],
      resources: ['certificatesigningrequests/approval'],
    },
  ],
  matchConditions: [
    { name: 'the-approver', expression: isProgram('approver') },
    // A denial gives no client any right.
    {
      name: 'an-approval',
      expression: `object.?status.?conditions.orValue([]).exists(c, c.type == 'Approved')`,
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        askedBy('system:bootstrap:', BOOTSTRAP_GROUP),
        askedBy(joinAccountUser(''), JOIN_ACCOUNTS_GROUP),
        askedBy(agentUser(''), AGENTS_GROUP),
        `object.spec.?username.orValue('') == ${quoted(DOOR_USER)}`,
      ),
      message: 'the approver approves only what join tokens, agents and the door ask for',
    },
    {
      expression: `object.spec.signerName == (${askedBy(joinAccountUser(''), JOIN_ACCOUNTS_GROUP)} ? ${quoted(TOKEN_SIGNER)} : ${quoted(AGENT_SIGNER)})`,
      message: `the approver approves only requests for ${AGENT_SIGNER}, and of hosts with a join account for ${TOKEN_SIGNER}`,
    },
    {
      expression: all(
        `object.spec.?usages.orValue([]).all(u, u in [${AGENT_USAGES.map(quoted).join(', ')}])`,
        `object.spec.?expirationSeconds.orValue(${LONGEST_LIFE_SECONDS + 1}) <= ${LONGEST_LIFE_SECONDS}`,
      ),
      message: `the approver approves only certificates for clients that are valid for at most ${LONGEST_LIFE_SECONDS} seconds`,
    },
  ],
}

/** The door queues the proofs of hosts, and removes its own entries. */
const doorQueue: AdmissionPolicy = {
  name: 'kubenode-door',
  rules: [
    {
      apiGroups: ['certificates.k8s.io'],
      apiVersions: ['*'],
      operations: ['CREATE', 'DELETE'],
      resources: ['certificatesigningrequests'],
    },
  ],
  matchConditions: [{ name: 'the-door', expression: `request.userInfo.username == ${quoted(DOOR_USER)}` }],
  variables: [],
  validations: [
    {
      expression: any(
        `request.operation != 'CREATE'`,
        all(
          `object.spec.signerName == ${quoted(AGENT_SIGNER)}`,
          `${valueOf('object', 'annotations', ANNOTATIONS.doorProof)} != ''`,
        ),
      ),
      message: `the door makes only requests for ${AGENT_SIGNER} with the proof of a host`,
    },
    {
      expression: any(`request.operation != 'DELETE'`, `oldObject.spec.?username.orValue('') == ${quoted(DOOR_USER)}`),
      message: 'the door deletes only its own certificate requests',
    },
  ],
}

export const approverPolicies: readonly AdmissionPolicy[] = [agentKeys, approverWrites, approvalsOfRequests, doorQueue]
