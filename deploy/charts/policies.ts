// Admission policies: what roles cannot say. An agent is held to its own Machine, jobs, Leases and Node, everything else is refused; verdicts and the ledger
// belong to the Defender; an approval names who makes it. An expression that fails refuses.
import { ApiObject, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import {
  AGENT_SIGNER,
  AGENTS_GROUP,
  AGENTS_NAMESPACE,
  AGENT_VERB,
  BOOTSTRAP_GROUP,
  SYSTEM_NAMESPACE,
  TAINTS,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentLeaseName,
  agentNodeGroup,
  agentUser,
  ANNOTATIONS,
  joinAccountUser,
  machineUidGroup,
} from '#api/names.ts'
import { API_GROUP } from '#api/kind.ts'
import { accountPolicies } from './account-policies.ts'
import { approverPolicies } from './approver-policies.ts'
import { controlPlanePolicies } from './control-plane-policies.ts'
import { holdPolicies } from './hold-policies.ts'
import { leavingPolicies } from './leaving-policies.ts'
import { logPolicies } from './log-policies.ts'
import { maintenancePolicies } from './maintenance-policies.ts'
import { leasePolicies } from './lease-policies.ts'
import { keptDefinitions, keptNamespaces } from './namespace-policy.ts'
import {
  REQUEST_NAMESPACE,
  all,
  any,
  inGroup,
  isResource,
  LEASES,
  operations,
  part,
  quoted,
  valueOf,
  type AdmissionPolicy,
  type Named,
} from './policy.ts'
import { accountUid, agentAccounts, isAgent } from './agent-accounts.ts'
import { agentBounds } from './agent-bounds.ts'
import { agentEventBounds, writesEvent } from './agent-events.ts'
import { eventPolicies } from './event-policies.ts'
import { nodePolicies } from './node-policies.ts'
import { ownerPolicies } from './owner-policies.ts'
import { revocationPolicies } from './revocation-policies.ts'
import { renderPolicy } from './render-policy.ts'
import { revisionPolicies } from './revision-policies.ts'
import { setPolicies } from './set-policies.ts'
import { sourcePolicies } from './source-policies.ts'
import { accountUserOf, userOf } from './system.ts'
import { sshPolicies } from './ssh-policies.ts'
import { unservedPolicies } from './unserved-policies.ts'

const USER_PREFIX = agentUser('')
const NODE_PREFIX = agentNodeGroup('')
const UID_PREFIX = machineUidGroup('')
const KEY_PREFIX = agentKeyGroup('')
const KEY_LENGTH = agentKeyGroup('0'.repeat(64)).length - KEY_PREFIX.length
/** Labels that an agent gives the Node that it registers; all others are the machine controller's or the administrator's. */
const NODE_LABELS = ['kubernetes.io/hostname', 'kubernetes.io/os', 'kubernetes.io/arch']

/** Its own, and the one that a server puts on every new Node before policies see it. */
const NODE_TAINTS = [TAINTS.componentsPending, 'node.kubernetes.io/not-ready']

/** With `create`: nothing was there, so nothing may be there. */
const unchanged = (field: string, otherwise: string): string =>
  `object.metadata.?${field}.orValue(${otherwise}) == (oldObject == null ? ${otherwise} : oldObject.metadata.?${field}.orValue(${otherwise}))`

const uidOn = (object: 'object' | 'oldObject'): string => {
  const map = `${object}.metadata.?annotations.orValue({})`
  const key = quoted(ANNOTATIONS.machineUid)
  return `${object} == null ? '' : (${key} in ${map} ? ${map}[${key}] : '')`
}

/** A Lease that an earlier version made gets the uid, and changes in nothing else. */
const marksItself = all(
  `request.resource.resource == 'leases'`,
  `variables.uidBefore == ''`,
  'variables.uidNow == variables.uid',
  `object.metadata.?annotations.orValue({}).all(k, k == ${quoted(ANNOTATIONS.machineUid)} || k in oldObject.metadata.?annotations.orValue({}) && object.metadata.annotations[k] == oldObject.metadata.annotations[k])`,
  `oldObject.metadata.?annotations.orValue({}).all(k, k in object.metadata.annotations)`,
)

/** Whose Node it is decides which certificate its agent may have; the rest is what controllers went by last. An agent that could write them could become another node. */
const MACHINE_KEPT: Readonly<Record<string, string>> = {
  observedGeneration: '0',
  phase: `''`,
  nodeRef: '{}',
  commit: `''`,
  inServiceSince: `''`,
  provisioning: '{}',
  powerCycle: '{}',
  acceptance: '{}',
  waitingFor: '{}',
}
/** Of a job an agent writes the steps, and nothing else. */
const JOB_KEPT: Readonly<Record<string, string>> = {
  observedGeneration: '0',
  phase: `''`,
  outcome: `''`,
  permitRef: `''`,
  startedAt: `''`,
  verifyUntil: `''`,
  finishedAt: `''`,
  evidence: '[]',
  message: `''`,
  nextJob: `''`,
  waitingFor: '{}',
  conditions: '[]',
}
const isOwn = (name: string): string => all(`variables.machine != ''`, `${name} == variables.machine`)

const statusKept = (fields: Readonly<Record<string, string>>): string =>
  all(
    ...Object.entries(fields).map(
      ([field, otherwise]) =>
        `object.?status.?${field}.orValue(${otherwise}) == oldObject.?status.?${field}.orValue(${otherwise})`,
    ),
  )

const LEASE_PREFIX = agentLeaseName('')
const isHeartbeat = `request.resource.resource == 'leases' && variables.inNamespace == ${quoted(SYSTEM_NAMESPACE)} && variables.name.startsWith(${quoted(LEASE_PREFIX)})`

/** The Role of an account names its Machine and its Node. Asked once for each; the request for a list of names would cost as much as the budget of a policy. */
const actsAs = (group: string, resource: string, name: string): string =>
  `authorizer.group(${quoted(group)}).resource(${quoted(resource)}).namespace(${quoted(AGENTS_NAMESPACE)}).name(${name}).check(${quoted(AGENT_VERB)}).allowed()`

/** Marked with its uid when it was created, or by a controller: for these frequent writes no Role is asked. */
const isMarkedAsOwn = all(
  operations('UPDATE'),
  `request.resource.resource in ['leases', 'remedyoperationjobs']`,
  `variables.uid != ''`,
  'variables.uidBefore == variables.uid',
)

type Validation = AdmissionPolicy['validations'][number]

const byAnAgent = { name: 'an-agent', expression: isAgent }

const agentVariables: AdmissionPolicy['variables'] = [
  { name: 'sub', expression: part('subResource') },
  // `namespace` alone is a reserved word of CEL.
  { name: 'inNamespace', expression: part('namespace') },
  // Of an agent that is a service account; it names the uid and nothing else.
  { name: 'account', expression: accountUid },
  {
    name: 'uids',
    expression: `variables.account != '' ? [variables.account] : request.userInfo.groups.filter(g, g.startsWith(${quoted(UID_PREFIX)})).map(g, g.substring(${UID_PREFIX.length}))`,
  },
  { name: 'uid', expression: `variables.uids.size() == 1 ? variables.uids[0] : ''` },
  {
    name: 'keys',
    expression: `request.userInfo.groups.filter(g, g.startsWith(${quoted(KEY_PREFIX)})).map(g, g.substring(${KEY_PREFIX.length}))`,
  },
  { name: 'key', expression: `variables.keys.size() == 1 ? variables.keys[0] : ''` },
  { name: 'revoked', expression: valueOf('oldObject', 'annotations', ANNOTATIONS.revoked) },
  { name: 'record', expression: valueOf('oldObject', 'annotations', ANNOTATIONS.agentKey) },
  {
    name: 'recordedKey',
    expression: `variables.record.contains('"key":"') ? variables.record.split('"key":"')[1].split('"')[0] : ''`,
  },
  { name: 'uidBefore', expression: uidOn('oldObject') },
  { name: 'uidNow', expression: uidOn('object') },
  { name: 'name', expression: `object == null ? '' : object.metadata.?name.orValue('')` },
  // What an account claims to be with this request: it counts where its Role says so.
  {
    name: 'claimed',
    expression: [
      `variables.account == '' ? '' : (${isHeartbeat} ? variables.name.substring(${LEASE_PREFIX.length})`,
      `(request.resource.resource == 'machines' ? variables.name`,
      `(request.resource.resource in ['remedyoperationjobs', 'logrequests'] ? oldObject.?spec.?machine.orValue('')`,
      `(request.resource.resource == 'events' ? object.?reportingInstance.orValue('') : ''))))`,
    ].join(' : '),
  },
  {
    name: 'claimedNode',
    expression: [
      `variables.account == '' ? '' : (request.resource.resource == 'nodes' || (request.resource.resource == 'leases' && variables.inNamespace == 'kube-node-lease') ? variables.name`,
      `(request.resource.resource == 'events' && object.?regarding.?kind.orValue('') == 'Node' ? object.?regarding.?name.orValue('') : ''))`,
    ].join(' : '),
  },
  {
    name: 'machine',
    expression: `request.userInfo.username.startsWith(${quoted(USER_PREFIX)}) ? request.userInfo.username.substring(${USER_PREFIX.length}) : (variables.claimed != '' && (${any(
      isMarkedAsOwn,
      all(
        `request.resource.resource == 'machines'`,
        'oldObject != null',
        `oldObject.metadata.?uid.orValue('') == variables.uid`,
      ),
      all(`request.resource.resource != 'machines'`, actsAs(API_GROUP, 'machines', 'variables.claimed')),
    )}) ? variables.claimed : '')`,
  },
  {
    name: 'nodes',
    expression: `variables.account != '' ? (variables.claimedNode != '' && (${any(
      isMarkedAsOwn,
      actsAs('', 'nodes', 'variables.claimedNode'),
    )}) ? [variables.claimedNode] : []) : request.userInfo.groups.filter(g, g.startsWith(${quoted(NODE_PREFIX)})).map(g, g.substring(${NODE_PREFIX.length}))`,
  },
  { name: 'isOwnNode', expression: `variables.nodes.size() == 1 && variables.name == variables.nodes[0]` },
  {
    name: 'isNode',
    expression: all(
      'variables.isOwnNode',
      any(
        all(isResource('', 'nodes'), operations('CREATE')),
        all(isResource('', 'nodes', 'status'), operations('UPDATE')),
      ),
    ),
  },
]

const isKnown: Validation = {
  expression: any(`variables.account != ''`, `variables.machine != ''`),
  message: 'an agent is known by the name of its Machine',
}

const writesOwnLease = all(
  isResource('coordination.k8s.io', 'leases'),
  operations('CREATE', 'UPDATE'),
  any(
    all(
      `variables.inNamespace == ${quoted(SYSTEM_NAMESPACE)}`,
      `variables.machine != ''`,
      `variables.name == ${quoted(LEASE_PREFIX)} + variables.machine`,
    ),
    all(`variables.inNamespace == 'kube-node-lease'`, 'variables.isOwnNode'),
  ),
)

const writesItsOwn: Validation = {
  expression: any(
    all(isResource(API_GROUP, 'machines', 'status'), operations('UPDATE'), isOwn('variables.name')),
    all(isResource(API_GROUP, 'remedyoperationjobs', 'status'), operations('UPDATE'), isOwn('oldObject.spec.machine')),
    all(isResource(API_GROUP, 'logrequests', 'status'), operations('UPDATE'), isOwn('oldObject.spec.machine')),
    writesOwnLease,
    'variables.isNode',
    // An account gets tokens, and asks for no certificates.
    all(
      isResource('certificates.k8s.io', 'certificatesigningrequests'),
      operations('CREATE'),
      `variables.account == ''`,
    ),
    writesEvent,
  ),
  message:
    'an agent writes the status of its own Machine, jobs and log requests, its own Leases, its own Node and its own events, and nothing else',
}

const namesItsUid: Validation = {
  expression: any(`request.resource.resource == 'certificatesigningrequests'`, `variables.uid != ''`),
  message: 'the certificate of this agent names no uid of its Machine; it renews it with: kubenode machine readmit',
}

const belongsToIt: Validation = {
  expression: any(
    `!(request.resource.resource in ['leases', 'nodes'])`,
    all(`variables.uidBefore in ['', variables.uid]`, `variables.uidNow == variables.uid`),
    // A kubelet's Node, and what an agent before this version made, has none until the machine controller or the agent marks it.
    all(operations('UPDATE'), `variables.uidBefore == ''`, `variables.uidNow == ''`),
  ),
  message: 'the object belongs to another Machine than the one that this agent has a certificate of',
}

const ownsNothing: Validation = {
  expression: any('object == null', all(unchanged('ownerReferences', '[]'), unchanged('finalizers', '[]'))),
  message: 'an agent sets no ownerReferences and no finalizers',
}

const labelsNothing: Validation = {
  expression: any(
    `request.operation != 'UPDATE'`,
    `request.resource.resource == 'events'`,
    all(unchanged('labels', '{}'), any(unchanged('annotations', '{}'), marksItself)),
  ),
  message: 'an agent changes no labels and no annotations',
}

const agentWrites: AdmissionPolicy = {
  name: 'kubenode-agents',
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }],
  except: [LEASES],
  matchConditions: [byAnAgent],
  variables: agentVariables,
  validations: [
    isKnown,
    writesItsOwn,
    namesItsUid,
    {
      expression: any(
        `!(request.resource.resource in ['machines'])`,
        'oldObject == null',
        'oldObject.metadata.uid == variables.uid',
      ),
      message: 'the certificate of this agent is of an earlier Machine of this name',
    },
    {
      // The same as acceptsKey in src/identity/agent-key.ts; the record is for this uid, which the certificate has to name as well.
      expression: any(
        `request.resource.resource != 'machines'`,
        `variables.revoked == ''`,
        // A token names no key. Accounts are deleted at a revocation; until then what counts is whether a later key is on record.
        all(
          `variables.account != ''`,
          'variables.record.contains(variables.uid)',
          'variables.recordedKey.size() == 64',
          `!variables.revoked.contains(variables.recordedKey.substring(0, ${KEY_LENGTH}))`,
        ),
        all(
          `variables.account == ''`,
          `variables.key.size() == ${KEY_LENGTH}`,
          'variables.record.contains(variables.uid)',
          'variables.record.contains(variables.key)',
          '!variables.revoked.contains(variables.key)',
        ),
      ),
      message: 'the key of this agent was revoked',
    },
    {
      expression: any(`request.resource.resource != 'remedyoperationjobs'`, 'variables.uidBefore == variables.uid'),
      message: 'the job is for another Machine than the one that this agent has a certificate of',
    },
    {
      expression: any(
        `request.resource.resource != 'logrequests'`,
        `oldObject.?spec.?machineUid.orValue('') == variables.uid`,
      ),
      message: 'the request is for another Machine than the one that this agent has a certificate of',
    },
    belongsToIt,
    {
      expression: any(`request.resource.resource != 'machines'`, statusKept(MACHINE_KEPT)),
      message: `an agent does not say ${Object.keys(MACHINE_KEPT).join(', ')} of its Machine`,
    },
    {
      expression: any(`request.resource.resource != 'remedyoperationjobs'`, statusKept(JOB_KEPT)),
      message: 'an agent says the steps of a job, and nothing else',
    },
    ownsNothing,
    labelsNothing,
    {
      expression: any(
        '!variables.isNode',
        `request.operation != 'CREATE'`,
        all(
          `object.metadata.?labels.orValue({}).all(k, k in [${NODE_LABELS.map(quoted).join(', ')}])`,
          `object.metadata.?annotations.orValue({}).all(k, k == ${quoted(ANNOTATIONS.machineUid)})`,
          `object.?spec.?taints.orValue([]).all(t, t.key in [${NODE_TAINTS.map(quoted).join(', ')}])`,
          `object.?spec.?providerID.orValue('') == ''`,
        ),
      ),
      message: `an agent registers its Node with no labels but its own and no taint but ${TAINTS.componentsPending}`,
    },
    agentBounds,
    ...agentEventBounds,
  ],
}

/** What these name of other kinds, a server that knows the type of the object would report as an error. */
const OF_LEASES: Readonly<Record<string, string>> = {
  claimed: `variables.account != '' && ${isHeartbeat} ? variables.name.substring(${LEASE_PREFIX.length}) : ''`,
  claimedNode: `variables.account != '' && variables.inNamespace == 'kube-node-lease' ? variables.name : ''`,
}
const USED_BY_LEASES = [
  'sub',
  'inNamespace',
  'account',
  'uids',
  'uid',
  'uidBefore',
  'uidNow',
  'name',
  'claimed',
  'claimedNode',
  'machine',
  'nodes',
  'isOwnNode',
]
const leaseVariables = agentVariables
  .filter(({ name }) => USED_BY_LEASES.includes(name))
  .map(({ name, expression }) => ({ name, expression: OF_LEASES[name] ?? expression }))

/** What an agent writes most by far: on a real server its renewal costs more in validations than in all else, so it passes those alone that can refuse one. */
const agentLeases: AdmissionPolicy = {
  name: 'kubenode-agent-leases',
  rules: [LEASES],
  matchConditions: [byAnAgent],
  variables: leaseVariables,
  validations: [
    isKnown,
    { ...writesItsOwn, expression: writesOwnLease },
    namesItsUid,
    belongsToIt,
    ownsNothing,
    labelsNothing,
  ],
}

const DEFENDERS = [userOf('defender'), accountUserOf('defender')].map(quoted).join(', ')

const defenderOwns: AdmissionPolicy = {
  name: 'kubenode-defender',
  rules: [
    {
      apiGroups: [API_GROUP],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['defenderledgers'],
    },
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: ['operationpermits/status'] },
  ],
  matchConditions: [],
  variables: [],
  validations: [
    {
      expression: `request.userInfo.username in [${DEFENDERS}]`,
      message:
        'the ledger and the verdicts of permits belong to the Defender; write a policy, an approval or a hold instead',
    },
  ],
}

const approvals: AdmissionPolicy = {
  name: 'kubenode-approvals',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE'], resources: ['approvals'] }],
  matchConditions: [],
  variables: [],
  validations: [
    { expression: 'object.spec.by == request.userInfo.username', message: 'spec.by must be who makes the approval' },
    {
      expression: '!has(object.spec.groups) || object.spec.groups.all(g, g in request.userInfo.groups)',
      message: 'spec.groups may name only groups of who makes the approval',
    },
  ],
}

/** Four times what a request for a key of 4,096 bits has. */
const REQUEST_CHARACTERS = 12_288
const NAME_CHARACTERS = 253

const isJoining = `request.userInfo.username.startsWith(${quoted(joinAccountUser(''))})`

const certificates: AdmissionPolicy = {
  name: 'kubenode-certificates',
  rules: [
    {
      apiGroups: ['certificates.k8s.io'],
      apiVersions: ['*'],
      operations: ['CREATE'],
      resources: ['certificatesigningrequests'],
    },
  ],
  matchConditions: [
    {
      name: 'an-agent-or-one-to-be',
      expression: any(inGroup(AGENTS_GROUP), inGroup(BOOTSTRAP_GROUP), isJoining),
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(isJoining, `object.spec.signerName == ${quoted(AGENT_SIGNER)}`),
      message: `agents ask ${AGENT_SIGNER} for certificates, and nobody else`,
    },
    {
      expression: any(`!(${isJoining})`, `object.spec.signerName == ${quoted(TOKEN_SIGNER)}`),
      message: `a host that joins with a service account asks ${TOKEN_SIGNER}, and nobody else`,
    },
    {
      // A request waits for a day, and what it carries is kept as long. The label and the proof are those of the door.
      expression: all(
        `object.spec.request.size() <= ${REQUEST_CHARACTERS}`,
        'object.metadata.?labels.orValue({}).size() == 0',
        `object.metadata.?annotations.orValue({}).all(k, k == ${quoted(ANNOTATIONS.machine)} && object.metadata.annotations[k].size() <= ${NAME_CHARACTERS})`,
        'object.metadata.?finalizers.orValue([]).size() == 0',
        'object.metadata.?ownerReferences.orValue([]).size() == 0',
      ),
      message: `a certificate request of an agent has at most ${REQUEST_CHARACTERS} characters, the name of its Machine, and no labels, other annotations, finalizers or owners`,
    },
  ],
}

export const POLICIES: readonly AdmissionPolicy[] = [
  agentLeases,
  agentWrites,
  ...approverPolicies,
  defenderOwns,
  approvals,
  ...controlPlanePolicies,
  ...holdPolicies,
  certificates,
  keptNamespaces,
  keptDefinitions,
  ...accountPolicies,
  agentAccounts,
  ...eventPolicies,
  ...leasePolicies,
  ...leavingPolicies,
  ...logPolicies,
  ...maintenancePolicies,
  ...nodePolicies,
  ...ownerPolicies,
  renderPolicy,
  ...revisionPolicies,
  ...revocationPolicies,
  ...setPolicies,
  ...sourcePolicies,
  ...sshPolicies,
  ...unservedPolicies,
]

const labelled = (key: string, values: readonly string[]) => ({
  matchExpressions: [{ key, operator: 'In', values }],
})

/** A selector passes over no object that lies in no namespace. */
const inNamespaces = (namespaces?: readonly string[]): readonly Named[] =>
  namespaces === undefined
    ? []
    : [{ name: 'where-it-looks', expression: `${REQUEST_NAMESPACE} in [${namespaces.map(quoted).join(', ')}]` }]

export class PoliciesChart extends Chart {
  constructor(scope: Construct) {
    super(scope, 'policies')
    for (const {
      name,
      parameter,
      rules,
      except,
      namespaces,
      namespacesWith,
      variables,
      validations,
      ...policy
    } of POLICIES) {
      const matchConditions = [...inNamespaces(namespaces), ...policy.matchConditions]
      const apiVersion = 'admissionregistration.k8s.io/v1'
      new ApiObject(this, name, {
        apiVersion,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        spec: {
          failurePolicy: 'Fail',
          ...(parameter !== undefined && { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }),
          // As the server fills it in: kubectl would send it again each time.
          matchConstraints: {
            ...(namespaces !== undefined && {
              namespaceSelector: labelled('kubernetes.io/metadata.name', namespaces),
            }),
            ...(namespacesWith !== undefined && { namespaceSelector: labelled(namespacesWith, ['true']) }),
            resourceRules: rules.map((rule) => ({ ...rule, scope: '*' })),
            ...(except !== undefined && { excludeResourceRules: except.map((rule) => ({ ...rule, scope: '*' })) }),
          },
          ...(matchConditions.length > 0 && { matchConditions }),
          ...(variables.length > 0 && { variables }),
          validations: validations.map((v) => ({ reason: 'Forbidden', ...v })),
        },
      })
      new ApiObject(this, `${name}-binding`, {
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          ...(parameter !== undefined && {
            paramRef: {
              namespace: parameter.namespace,
              name: parameter.name,
              parameterNotFoundAction: parameter.whenMissing ?? 'Allow',
            },
          }),
        },
      })
    }
  }
}
