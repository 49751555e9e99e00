// Admission policies that keep the accounts of our programs out of reach: who may make what runs where they live, what a commit may declare there, and
// which Secrets turn into tokens. A thief of one program's key becomes no other program.
import { API_GROUP } from '#api/kind.ts'
import {
  DECLARE_VERB,
  PROBES_NAMESPACE,
  SYSTEM_NAMESPACE,
  SYSTEM_NAMESPACE_PREFIXES,
  SOURCE_USER_PREFIX,
} from '#api/names.ts'
import {
  all,
  any,
  isInstaller,
  operations,
  part,
  quoted,
  usersOf,
  type AdmissionPolicy,
  type AdmissionRule,
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
const WORKLOAD_CONTROLLERS = [
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

/** A probe gets no account: no token, and no volume that could bring one. */
const isProbe = all(
  `request.namespace == ${quoted(PROBES_NAMESPACE)}`,
  `request.userInfo.username in [${usersOf('controllers')}]`,
  `${RESOURCE} == 'pods'`,
  `variables.sub == ''`,
  operations('CREATE'),
  `object.spec.?automountServiceAccountToken.orValue(true) == false`,
  `object.spec.?serviceAccountName.orValue('') in ['', 'default']`,
  `object.spec.?volumes.orValue([]).size() == 0`,
)

const accounts: AdmissionPolicy = {
  name: 'kubenode-accounts',
  rules: [
    rule('apps', ['deployments', 'statefulsets', 'daemonsets', 'replicasets'], ['CREATE', 'UPDATE']),
    rule('batch', ['jobs', 'cronjobs'], ['CREATE', 'UPDATE']),
    rule('', ['pods', 'pods/ephemeralcontainers', 'replicationcontrollers'], ['CREATE', 'UPDATE']),
    rule('', ['pods/exec', 'pods/attach'], ['CONNECT']),
    rule('', ['serviceaccounts/token'], ['CREATE']),
  ],
  matchConditions: [
    {
      name: 'where-our-accounts-live',
      expression: `request.namespace in [${[SYSTEM_NAMESPACE, PROBES_NAMESPACE].map(quoted).join(', ')}]`,
    },
  ],
  variables: [SUB],
  validations: [
    {
      expression: any(
        `request.userInfo.username in [${WORKLOAD_CONTROLLERS.map(quoted).join(', ')}]`,
        kubeletAsks,
        isProbe,
        isSameSpec,
        isInstaller,
      ),
      message: `only the installer makes workloads, pods and tokens in namespaces ${SYSTEM_NAMESPACE} and ${PROBES_NAMESPACE}; the installer needs the verb install on programs.${API_GROUP}`,
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
      expression: any(isOurProgram, `request.namespace == ${quoted(SYSTEM_NAMESPACE)}`),
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
        `!request.namespace.startsWith('kube-')`,
        `object.?type.orValue('') == ${quoted(BOOTSTRAP_SECRET)}`,
      ),
      message: 'a KubeNode program makes no Secret but join tokens in namespaces of Kubernetes',
    },
  ],
}

const isSystem = (name: string): string =>
  any(...SYSTEM_NAMESPACE_PREFIXES.map((prefix) => `${name}.startsWith(${quoted(prefix)})`))

const POD = `variables.declared.?spec.?template.?spec`
const CONTAINERS = ['containers', 'initContainers'].map((list) => `${POD}.?${list}.orValue([])`).join(' + ')

/** What makes a pod as strong as its node. */
const ofTheHost = any(
  ...['hostNetwork', 'hostPID', 'hostIPC'].map((field) => `${POD}.?${field}.orValue(false)`),
  `${POD}.?volumes.orValue([]).exists(v, has(v.hostPath))`,
  `(${CONTAINERS}).exists(c, c.?securityContext.?privileged.orValue(false) || c.?securityContext.?capabilities.?add.orValue([]).size() > 0)`,
)

const listed = (account: string): string =>
  `authorizer.group(${quoted(API_GROUP)}).resource(${RESOURCE}).subresource(${account}).namespace(variables.ns).name(variables.name).check(${quoted(DECLARE_VERB)}).allowed()`

/** src/sync/cluster/listed.ts refuses the same before anything is sent. A deletion outside system namespaces needs no list: the list may be shorter by then. */
const declared: AdmissionPolicy = {
  name: 'kubenode-declared',
  rules: [
    rule('apps', ['deployments', 'statefulsets', 'daemonsets'], ['CREATE', 'UPDATE', 'DELETE']),
    rule('', ['namespaces', 'configmaps', 'services', 'serviceaccounts'], ['CREATE', 'UPDATE', 'DELETE']),
  ],
  matchConditions: [
    {
      name: 'from-git',
      expression: any(
        `request.userInfo.username in [${usersOf('sync')}]`,
        `request.userInfo.username.startsWith(${quoted(SOURCE_USER_PREFIX)})`,
      ),
    },
  ],
  variables: [
    { name: 'declared', expression: 'object == null ? oldObject : object' },
    { name: 'ns', expression: `${RESOURCE} == 'namespaces' ? '' : (${part('namespace')})` },
    { name: 'name', expression: `variables.declared.metadata.?name.orValue('')` },
    {
      name: 'accounts',
      expression: `[${POD}.?serviceAccountName.orValue(''), ${POD}.?serviceAccount.orValue('')].filter(a, a != '' && a != 'default')`,
    },
    { name: 'ofTheHost', expression: `object != null && (${ofTheHost})` },
  ],
  validations: [
    {
      expression: any(`${RESOURCE} != 'namespaces'`, `!(${isSystem('variables.name')})`),
      message: `a commit declares no namespace ${SYSTEM_NAMESPACE_PREFIXES.map((p) => `${p}*`).join(' or ')}`,
    },
    {
      expression: any(
        all('object == null', `!(${isSystem('variables.ns')})`),
        `variables.accounts.all(account, ${listed('account')})`,
      ),
      message:
        'a workload from git names a service account that the installer did not list for it; see docs/security.md',
    },
    {
      expression: any(
        'variables.accounts.size() > 0',
        all(`!(${isSystem('variables.ns')})`, '!variables.ofTheHost'),
        listed(`''`),
      ),
      message:
        'an object from git in a system namespace, or one with the power of its node, is not on the list of the installer; see docs/security.md',
    },
  ],
}

export const accountPolicies: readonly AdmissionPolicy[] = [accounts, tokenSecrets, declared]
