// Admission policies that keep the accounts of our programs out of reach: who may make what runs where they live, what a commit may declare there, and
// which Secrets turn into tokens. A thief of one program's key becomes no other program.
import { API_GROUP } from '#api/kind.ts'
import {
  ACCEPTANCE_NAMESPACE,
  AGENTS_NAMESPACE,
  ARTIFACTS_SECRET,
  CLUSTERS_NAMESPACE,
  CONTROL_PLANE_PREFIX,
  DECLARE_HOST_VERB,
  DECLARE_VERB,
  DEFAULT_NAMESPACE,
  HOSTED_PROGRAMS,
  hostedNamespace,
  JOIN_NAMESPACE,
  OWN_NAMESPACES,
  PREVIEWS_NAMESPACE,
  PROBES_NAMESPACE,
  SYSTEM_NAMESPACE,
  SOURCE_USER_PREFIX,
  TRUST_ZONES,
  WEBHOOK_NAMESPACE,
  WEBHOOK_SECRET,
  joinAccountName,
  kubeconfigSecretName,
  programAccount,
  programUser,
} from '#api/names.ts'
import { JOIN_TOKEN_SECONDS } from '#identity/token-life.ts'
import { MAX_SECRETS } from '#api/ordinary-pods.ts'
import { isShortToken } from './agent-accounts.ts'
import { containersAreOrdinary, eachSecret, noMoreSecrets, podIsOrdinary, podVariables } from './ordinary-pods.ts'
import { makesRender } from './render-policy.ts'
import { WORKLOAD_FORMS } from './workload-forms.ts'
import { formHolds, formVariables } from './workload-policies.ts'
import {
  LEASES,
  REQUEST_NAMESPACE,
  all,
  any,
  isInstaller,
  operations,
  part,
  quoted,
  usersOf,
  type AdmissionPolicy,
  type AdmissionRule,
  updatesOwnMetricsSecret,
} from './policy.ts'

const rule = (group: string, resources: readonly string[], verbs: readonly string[]): AdmissionRule => ({
  apiGroups: [group],
  apiVersions: ['*'],
  operations: verbs,
  resources,
})

const SUB = { name: 'sub', expression: part('subResource') }
const RESOURCE = 'request.resource.resource'

const CONTROLLER_MANAGER = 'system:kube-controller-manager'
/** With an account for each of its controllers (the usual case), and without. */
export const WORKLOAD_CONTROLLERS = [
  CONTROLLER_MANAGER,
  ...['deployment', 'replicaset', 'statefulset', 'daemon-set', 'job', 'cronjob'].map(
    (name) => `system:serviceaccount:kube-system:${name}-controller`,
  ),
  'system:serviceaccount:kube-system:replication-controller',
]

const TOKEN_SECRET = 'kubernetes.io/service-account-token'
const BOOTSTRAP_SECRET = 'bootstrap.kubernetes.io/token'

/** Finalizers, owners and labels change nothing about what runs. */
const isSameSpec = all(operations('UPDATE'), `variables.sub == ''`, `object.?spec == oldObject.?spec`)

const kubeletAsks = all(
  `${RESOURCE} == 'serviceaccounts'`,
  `'system:nodes' in request.userInfo.groups`,
  `object.?spec.?boundObjectRef.?kind.orValue('') == 'Pod'`,
)

const makesPodsIn = (namespace: string): string =>
  all(
    `${REQUEST_NAMESPACE} == ${quoted(namespace)}`,
    `request.userInfo.username in [${usersOf('controllers')}]`,
    `${RESOURCE} == 'pods'`,
    `variables.sub == ''`,
    operations('CREATE'),
  )

/** Policy kubenode-probe-pods says of what form. */
const isProbe = makesPodsIn(PROBES_NAMESPACE)

const probe = WORKLOAD_FORMS.probes
const probePods: AdmissionPolicy = {
  name: probe.policy,
  rules: [rule('', Object.keys(probe.resources), ['CREATE', 'UPDATE'])],
  namespaces: [PROBES_NAMESPACE],
  matchConditions: [{ name: 'by-the-program', expression: `request.userInfo.username in [${usersOf('controllers')}]` }],
  variables: formVariables(probe),
  validations: formHolds(probe).map(({ what, expression }) => ({
    expression,
    message: `controllers make ${probe.what} of one form; this one differs in: ${what}`,
  })),
}

/** Policy kubenode-acceptance-pods says what holds of each. */
const isAcceptance = makesPodsIn(ACCEPTANCE_NAMESPACE)

/** The template decides what runs, and Pod Security of the namespace what it may. A pod here is for one node, ends, and has an owner that it goes with. */
const acceptancePods: AdmissionPolicy = {
  name: 'kubenode-acceptance-pods',
  rules: [rule('', ['pods'], ['CREATE', 'UPDATE'])],
  namespaces: [ACCEPTANCE_NAMESPACE],
  matchConditions: [{ name: 'by-the-program', expression: `request.userInfo.username in [${usersOf('controllers')}]` }],
  variables: [],
  validations: [
    {
      expression: all(
        `object.spec.?nodeName.orValue('') != ''`,
        `object.spec.?restartPolicy.orValue('') == 'Never'`,
        `object.spec.?activeDeadlineSeconds.orValue(0) > 0`,
      ),
      message: 'controllers make pods that accept one node, once, and end',
    },
    {
      expression: all(
        `object.metadata.?ownerReferences.orValue([]).size() == 1`,
        `object.metadata.ownerReferences.all(o, o.kind in ['Machine', 'RemedyOperationJob'])`,
        `object.metadata.?finalizers.orValue([]).size() == 0`,
      ),
      message: 'a pod that accepts a node goes with its Machine or its repair',
    },
    {
      expression: `!object.spec.?priorityClassName.orValue('').startsWith('system-')`,
      message: 'a pod that accepts a node evicts no part of Kubernetes',
    },
  ],
}

/** Of a host that joins; those of agents are held by a policy of their own. */
const isAgentToken = all(
  `request.userInfo.username in [${usersOf('approver')}]`,
  `${RESOURCE} == 'serviceaccounts'`,
  `variables.sub == 'token'`,
  any(
    `${REQUEST_NAMESPACE} == ${quoted(AGENTS_NAMESPACE)}`,
    all(
      `${REQUEST_NAMESPACE} == ${quoted(JOIN_NAMESPACE)}`,
      `${part('name')}.startsWith(${quoted(joinAccountName(''))})`,
      isShortToken(JOIN_TOKEN_SECONDS),
    ),
  ),
)

const accounts: AdmissionPolicy = {
  name: 'kubenode-accounts',
  rules: [
    rule('apps', ['deployments', 'statefulsets', 'daemonsets', 'replicasets'], ['CREATE', 'UPDATE']),
    rule('apps', ['deployments/scale', 'statefulsets/scale', 'replicasets/scale'], ['UPDATE']),
    rule('batch', ['jobs', 'cronjobs'], ['CREATE', 'UPDATE']),
    rule('', ['pods', 'pods/ephemeralcontainers', 'replicationcontrollers'], ['CREATE', 'UPDATE']),
    rule('', ['pods/exec', 'pods/attach'], ['CONNECT']),
    rule('', ['serviceaccounts/token'], ['CREATE']),
  ],
  namespaces: OWN_NAMESPACES,
  matchConditions: [],
  variables: [SUB],
  validations: [
    {
      expression: any(
        `request.userInfo.username in [${WORKLOAD_CONTROLLERS.map(quoted).join(', ')}]`,
        kubeletAsks,
        isProbe,
        isAcceptance,
        isAgentToken,
        makesRender,
        isSameSpec,
        isInstaller,
      ),
      message: `only the installer makes or scales workloads, makes pods and tokens, and runs commands in pods of namespaces ${OWN_NAMESPACES.join(', ')}; the installer needs the verb install on programs.${API_GROUP}`,
    },
  ],
}

export const isOurProgram = any(
  `request.userInfo.username.startsWith('kubenode:')`,
  `request.userInfo.username.startsWith(${quoted(`system:serviceaccount:${SYSTEM_NAMESPACE}:`)})`,
)

/** The right to write Secrets would otherwise be the right to become any account of the namespace: the token controller fills such a Secret in. */
const tokenSecrets: AdmissionPolicy = {
  name: 'kubenode-token-secrets',
  rules: [rule('', ['secrets'], ['CREATE', 'UPDATE'])],
  matchConditions: [
    {
      name: 'a-program-or-where-our-accounts-live',
      expression: any(isOurProgram, `${REQUEST_NAMESPACE} == ${quoted(SYSTEM_NAMESPACE)}`),
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        `object.?type.orValue('') != ${quoted(TOKEN_SECRET)}`,
        `request.userInfo.username == ${quoted(CONTROLLER_MANAGER)}`,
        isInstaller,
      ),
      message: 'only the installer makes a Secret that turns into the token of a KubeNode account',
    },
    {
      expression: any(
        `!(${isOurProgram})`,
        `!${REQUEST_NAMESPACE}.startsWith('kube-')`,
        `object.?type.orValue('') == ${quoted(BOOTSTRAP_SECRET)}`,
      ),
      message: 'a KubeNode program makes no Secret but join tokens in namespaces of Kubernetes',
    },
  ],
}

/** Roles cannot name what is created: each of these programs keeps certificates or kubeconfigs of its own, under names that begin so. */
const OWN_SECRETS = [
  { program: 'artifacts', namespaces: [SYSTEM_NAMESPACE], prefix: ARTIFACTS_SECRET },
  { program: 'defender', namespaces: [WEBHOOK_NAMESPACE], prefix: WEBHOOK_SECRET },
  // The credentials for git are there too.
  {
    program: 'cluster',
    namespaces: [CLUSTERS_NAMESPACE, PREVIEWS_NAMESPACE, ...HOSTED_PROGRAMS.map(hostedNamespace)],
    prefix: kubeconfigSecretName(''),
  },
] as const
const isUser = (program: string): string =>
  `request.userInfo.username in [${quoted(programUser(program))}, ${quoted(programAccount(program))}]`
const SECRET_NAME = `(object == null ? oldObject : object).metadata.?name.orValue('')`

const ownSecrets: AdmissionPolicy = {
  name: 'kubenode-own-secrets',
  rules: [rule('', ['secrets'], ['CREATE', 'UPDATE', 'DELETE'])],
  matchConditions: [
    { name: 'a-program-with-own-secrets', expression: any(...OWN_SECRETS.map(({ program }) => isUser(program))) },
  ],
  variables: [],
  validations: OWN_SECRETS.map(({ program, namespaces, prefix }) => ({
    expression: any(
      `!(${isUser(program)})`,
      // In a hosted cluster role cluster applies the whole release.
      isInstaller,
      updatesOwnMetricsSecret(program),
      all(
        any(...namespaces.map((namespace) => `${REQUEST_NAMESPACE} == ${quoted(namespace)}`)),
        prefix.endsWith('-') ? `${SECRET_NAME}.startsWith(${quoted(prefix)})` : `${SECRET_NAME} == ${quoted(prefix)}`,
      ),
      ...(program === 'cluster' ? [`${REQUEST_NAMESPACE}.startsWith(${quoted(CONTROL_PLANE_PREFIX)})`] : []),
    ),
    message: `the program ${program} writes no Secret in namespace ${namespaces.join(', ')} but ${prefix}${prefix.endsWith('-') ? '…' : ''}`,
  })),
}

const isSystem = (name: string): string =>
  any(...TRUST_ZONES.map(({ prefix }) => `${name}.startsWith(${quoted(prefix)})`))

const question = (verb: string, resource: string, subresource: string, name: string): string =>
  `authorizer.group(${quoted(API_GROUP)}).resource(${resource}).subresource(${subresource}).namespace(variables.ns).name(${name}).check(${quoted(verb)}).allowed()`
const listed = (account: string): string => question(DECLARE_VERB, RESOURCE, account, 'variables.name')

const isCore = (...resources: readonly string[]): string =>
  all(`request.resource.group == ''`, `${RESOURCE} in [${resources.map(quoted).join(', ')}]`)

/** What sync writes for itself, and what belongs to our own kinds, whose rights are in its roles. */
const OF_SYNC = [API_GROUP, 'authentication.k8s.io', 'authorization.k8s.io', 'coordination.k8s.io', 'events.k8s.io']

/** Whose traffic goes where, whom clients trust, and what an account is outside of the cluster. */
const isReserved = any(
  isSystem('variables.ns'),
  all(isCore('services'), `variables.ns == ${quoted(DEFAULT_NAMESPACE)}`, `variables.name == 'kubernetes'`),
  all(isCore('configmaps'), `variables.name == 'kube-root-ca.crt'`),
  isCore('endpoints'),
  `request.resource.group == 'discovery.k8s.io'`,
  all(
    isCore('serviceaccounts'),
    'object != null',
    `object.metadata.?annotations.orValue({}).exists(k, !k.startsWith(${quoted(`${API_GROUP}/`)}) && (oldObject == null || !(k in oldObject.metadata.?annotations.orValue({})) || oldObject.metadata.annotations[k] != object.metadata.annotations[k]))`,
  ),
)

const isOpenService = all(
  isCore('services'),
  any(
    `variables.declared.?spec.?externalIPs.orValue([]).size() > 0`,
    all(isSystem('variables.ns'), `!(variables.declared.?spec.?type.orValue('') in ['', 'ClusterIP'])`),
  ),
)

const SEE = 'see docs/operations/security.md'
/** src/declared/listings.ts refuses the same before anything is sent. A deletion of what is not reserved needs no list: it may be shorter by then. */
const declared: AdmissionPolicy = {
  name: 'kubenode-declared',
  rules: [rule('*', ['*/*'], ['CREATE', 'UPDATE', 'DELETE'])],
  // The conditions leave both out as well; the events of sync have a second group, so they stay with the conditions.
  except: [LEASES, rule(API_GROUP, ['*/*'], ['*'])],
  matchConditions: [
    {
      name: 'from-git',
      expression: any(
        `request.userInfo.username in [${usersOf('sync')}]`,
        `request.userInfo.username.startsWith(${quoted(SOURCE_USER_PREFIX)})`,
      ),
    },
    {
      name: 'not-of-sync-itself',
      expression: all(
        `!(request.resource.group in [${OF_SYNC.map(quoted).join(', ')}])`,
        `!(${makesRender})`,
        `!(${updatesOwnMetricsSecret('sync')} && request.userInfo.username in [${usersOf('sync')}])`,
      ),
    },
  ],
  variables: [
    { name: 'declared', expression: 'object == null ? oldObject : object' },
    { name: 'ns', expression: `${isCore('namespaces')} ? '' : (${part('namespace')})` },
    { name: 'name', expression: `variables.declared.metadata.?name.orValue('')` },
    ...podVariables,
    {
      name: 'accounts',
      expression: `[variables.pod.?serviceAccountName.orValue(''), variables.pod.?serviceAccount.orValue('')].filter(a, a != '' && a != 'default')`,
    },
    { name: 'isReserved', expression: isReserved },
    {
      name: 'ofTheHost',
      expression: `object != null && (${any(isOpenService, `!(${podIsOrdinary})`, `!(${containersAreOrdinary})`)})`,
    },
  ],
  validations: [
    {
      expression: any(
        `!(${isCore('namespaces')})`,
        `!(${any(isSystem('variables.name'), `variables.name == ${quoted(DEFAULT_NAMESPACE)}`)})`,
      ),
      message: `a commit declares no namespace ${[...TRUST_ZONES.map(({ prefix }) => `${prefix}*`), DEFAULT_NAMESPACE].join(' or ')}`,
    },
    {
      expression: any(
        all('object == null', '!variables.isReserved'),
        `variables.accounts.all(account, ${listed('account')})`,
      ),
      message: `a workload from git names a service account that the installer did not list for it; ${SEE}`,
    },
    {
      expression: any('variables.accounts.size() > 0', '!variables.isReserved', listed(`''`)),
      message: `an object from git in a system namespace, or one that others trust, is not on the list of the installer; ${SEE}`,
    },
    {
      expression: any('!variables.ofTheHost', question(DECLARE_HOST_VERB, RESOURCE, `''`, 'variables.name')),
      message: `an object from git has the power of its node, and is not on the list of the installer for that; ${SEE}`,
    },
    ...eachSecret((secret) => question(DECLARE_VERB, `'secrets'`, `''`, secret)).map((expression) => ({
      expression,
      message: `an object from git uses a Secret that the installer did not list in its namespace; ${SEE}`,
    })),
    { expression: noMoreSecrets, message: `an object from git uses at most ${MAX_SECRETS} Secrets` },
  ],
}

export const accountPolicies: readonly AdmissionPolicy[] = [
  accounts,
  probePods,
  acceptancePods,
  tokenSecrets,
  ownSecrets,
  declared,
]
