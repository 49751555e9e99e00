// Agents that are service accounts, on clusters that sign no certificates for them: who counts as an agent, and what there is in the namespace of their
// accounts. The approver alone makes accounts and tokens there; no user makes what could mount a token, not even the installer.
import {
  AGENTS_GROUP,
  AGENTS_NAMESPACE,
  AGENT_ACCOUNTS_GROUP,
  AGENT_VERB,
  agentAccountName,
  agentAccountUser,
  agentUser,
} from '#api/names.ts'
import { LONGEST_TOKEN_SECONDS } from '#identity/token-life.ts'
import { CLEANERS } from './lease-policies.ts'
import { all, any, inGroup, isInstaller, isProgram, operations, part, quoted, type AdmissionPolicy } from './policy.ts'

const PREFIX = agentAccountUser('')

/** In either form. A user with one of the marks is held to all of them. */
export const isAgent = any(
  inGroup(AGENTS_GROUP),
  inGroup(AGENT_ACCOUNTS_GROUP),
  ...[agentUser(''), PREFIX].map((prefix) => `request.userInfo.username.startsWith(${quoted(prefix)})`),
)

/** The uid that an account names; empty for other users. */
export const accountUid = `request.userInfo.username.startsWith(${quoted(PREFIX)}) ? request.userInfo.username.substring(${PREFIX.length}) : ''`

/** Of Kubernetes, which fills each namespace, counts what is in it, and empties one that is deleted. */
const KEEPERS = [
  ...CLEANERS,
  ...[
    'service-account-controller',
    'root-ca-cert-publisher',
    'resourcequota-controller',
    'generic-garbage-collector',
  ].map((name) => `system:serviceaccount:kube-system:${name}`),
]

const RESOURCE = 'request.resource.resource'
const isOne = (resource: string, group: string, sub = ''): string =>
  all(
    `${RESOURCE} == ${quoted(resource)}`,
    `request.resource.group == ${quoted(group)}`,
    `variables.sub == ${quoted(sub)}`,
  )
const RBAC = 'rbac.authorization.k8s.io'
const isToken = isOne('serviceaccounts', '', 'token')

/** A server fills in its own audience before policies see the request, and no policy knows that name: a token for another service is of no use here. */
export const isShortToken = (seconds: number): string => `object.spec.expirationSeconds <= ${seconds}`

const KEPT = any(
  isOne('serviceaccounts', ''),
  isOne('configmaps', ''),
  isOne('resourcequotas', ''),
  isOne('resourcequotas', '', 'status'),
  isOne('roles', RBAC),
  isOne('rolebindings', RBAC),
  isOne('events', ''),
  isOne('events', 'events.k8s.io'),
)

const isOfAgent = `variables.name.startsWith(${quoted(agentAccountName(''))})`

/** A Role of an agent says which Machine and Node it is, and gives no other right; its binding is for the account of the same name. */
const isPlainRole = all(
  `object.?rules.orValue([]).size() > 0`,
  `object.rules.all(r, r.verbs == [${quoted(AGENT_VERB)}] && r.?resourceNames.orValue([]).size() == 1 && r.?nonResourceURLs.orValue([]).size() == 0)`,
)
const isPlainBinding = all(
  `object.roleRef.kind == 'Role'`,
  'object.roleRef.name == variables.name',
  'object.?subjects.orValue([]).size() == 1',
  `object.subjects.all(s, s.kind == 'ServiceAccount' && s.name == variables.name && s.?namespace.orValue('') == ${quoted(AGENTS_NAMESPACE)})`,
)

export const agentAccounts: AdmissionPolicy = {
  name: 'kubenode-agent-accounts',
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }],
  namespaces: [AGENTS_NAMESPACE],
  matchConditions: [
    // A namespace is in itself, for a server; other policies keep it.
    { name: 'no-namespace', expression: `!(request.resource.group == '' && ${RESOURCE} == 'namespaces')` },
  ],
  variables: [
    { name: 'sub', expression: part('subResource') },
    {
      name: 'name',
      expression: `oldObject != null ? oldObject.metadata.?name.orValue('') : (object != null && has(object.metadata) && object.metadata.?name.orValue('') != '' ? object.metadata.name : ${part('name')})`,
    },
  ],
  validations: [
    {
      expression: any(operations('DELETE'), KEPT, isToken),
      message: `no user makes pods, workloads or Secrets in namespace ${AGENTS_NAMESPACE}: they could use the accounts of agents`,
    },
    {
      expression: any(`!(${isToken})`, isProgram('approver')),
      message: `only the approver makes tokens in namespace ${AGENTS_NAMESPACE}`,
    },
    {
      expression: any(
        `!(${isToken})`,
        all(`${part('name')}.startsWith(${quoted(agentAccountName(''))})`, isShortToken(LONGEST_TOKEN_SECONDS)),
      ),
      message: `a token of an agent is valid for at most ${LONGEST_TOKEN_SECONDS} seconds`,
    },
    {
      expression: any(
        isToken,
        all(isProgram('approver'), isOfAgent),
        `request.userInfo.username in [${KEEPERS.map(quoted).join(', ')}]`,
        isInstaller,
      ),
      message: `only the approver and the installer write in namespace ${AGENTS_NAMESPACE}`,
    },
    {
      expression: any(
        operations('DELETE'),
        `!(${isProgram('approver')})`,
        all(any(`!(${isOne('roles', RBAC)})`, isPlainRole), any(`!(${isOne('rolebindings', RBAC)})`, isPlainBinding)),
      ),
      message: 'the approver gives an account the identity of one Machine and its Node, and no other right',
    },
  ],
}
