// The attacker has the key of a program that writes next to nothing (artifacts, console), or the token of a host that has not joined: nothing of others is read with it, and it becomes
// no other identity.
import {
  AGENTS_NAMESPACE,
  CLUSTERS_NAMESPACE,
  JOIN_NAMESPACE,
  metricsSecretName,
  programUser,
  SYSTEM_NAMESPACE,
  WEBHOOK_NAMESPACE,
} from '#api/names.ts'
import { accountOfProgram, type Attempt, tryOnServers, type Who } from '#test/support/worlds/attack-world.ts'

const secretsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`
const OURS = '/apis/kubenode.io/v1alpha1'
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`

/** As a certificate has it, and as a pod. */
const formsOf = (program: string): Readonly<Record<string, Who>> => ({
  [`the key of ${program}`]: { user: programUser(program), groups: ['system:authenticated'] },
  [`the token of ${program}`]: accountOfProgram(program),
})

interface Try {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: object
  /** Forbidden, unless said. */
  readonly refused?: RegExp
}

const reads = (what: string, path: string): Try => ({ what: `reads ${what}`, method: 'GET', path })
const SECRETS: readonly Try[] = [
  reads('the Secrets of our namespace', secretsIn(SYSTEM_NAMESPACE)),
  reads('the certificate of the metrics of sync', `${secretsIn(SYSTEM_NAMESPACE)}/${metricsSecretName('sync')}`),
  reads('the kubeconfig of a member', `${secretsIn(CLUSTERS_NAMESPACE)}/cluster-prod`),
  reads('join tokens', secretsIn(JOIN_NAMESPACE)),
  reads('join tokens of Kubernetes', secretsIn('kube-system')),
  reads('the key of the webhook', `${secretsIn(WEBHOOK_NAMESPACE)}/kubenode-webhook`),
]
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'kubenode-sync' },
  spec: { holderIdentity: 'thief' },
}
const token = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'mine', annotations: { 'kubernetes.io/service-account.name': 'kubenode-defender' } },
  type: 'kubernetes.io/service-account-token',
}
const request = (account: string) => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  metadata: { name: account },
  spec: {},
})
const BECOMES: readonly Try[] = [
  {
    what: 'makes a Secret that turns into the token of the Defender',
    method: 'POST',
    path: secretsIn(SYSTEM_NAMESPACE),
    body: token,
  },
  {
    what: 'makes a token of the Defender',
    method: 'POST',
    path: `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`,
    body: request('kubenode-defender'),
  },
  { what: 'takes the leadership of sync', method: 'POST', path: LEASES, body: lease },
  {
    what: 'acts as another user',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'impersonate', resource: 'users', name: 'ada' } },
    },
    refused: /"allowed": ?false/,
  },
]
/** A component whose Secret is not there yet would be given this one. */
const planted = {
  what: 'makes another Secret than its own, which a component may name',
  method: 'POST',
  path: secretsIn(SYSTEM_NAMESPACE),
  body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'registry-login' }, data: { password: 'eA==' } },
  refused: /^(403|422) .*(forbidden|writes no Secret)/s,
} satisfies Try
const approval = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Approval',
  metadata: { name: 'mine' },
  spec: { digest: `sha256:${'a'.repeat(64)}`, by: programUser('console'), reason: 'x' },
}
const hold = (user: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationalHold',
  metadata: { name: 'mine' },
  spec: {
    effect: 'Freeze',
    target: { kind: 'Cluster', selector: {} },
    author: user,
    reason: 'x',
    until: '2999-01-01T00:00:00Z',
  },
})
const WRITES: readonly Try[] = [
  { what: 'approves a deletion', method: 'POST', path: `${OURS}/approvals`, body: approval },
  { what: 'freezes the cluster', method: 'POST', path: `${OURS}/operationalholds`, body: hold(programUser('console')) },
  { what: 'deletes a Machine', method: 'DELETE', path: `${OURS}/machines/m-a` },
  {
    what: 'makes a pod',
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  },
]

const attemptsOf = (name: string, who: Who, tries: readonly Try[]): readonly Attempt[] =>
  tries.map((each) => ({
    name: `S25 ${name} ${each.what}`,
    attempt: ({ ask }) => ask(who, each.method, each.path, each.body === undefined ? {} : { body: each.body }),
    refused: each.refused ?? 403,
  }))

const artifacts = [
  planted,
  {
    ...planted,
    what: 'makes a Secret under a name that the server chooses',
    body: { ...planted.body, metadata: { generateName: 'kubenode-artifacts-tls' } },
  },
  ...SECRETS,
  ...BECOMES,
  ...WRITES,
  reads('Machines', `${OURS}/machines`),
  reads('the names of all sealed tokens', `/api/v1/namespaces/${AGENTS_NAMESPACE}/configmaps`),
]
const page = [
  planted,
  ...SECRETS,
  ...BECOMES,
  ...WRITES,
  reads('pods, with what is in their environment', '/api/v1/pods'),
  reads('the sealed tokens of agents', `/api/v1/namespaces/${AGENTS_NAMESPACE}/configmaps`),
]

const joining: readonly Try[] = [
  ...SECRETS,
  ...WRITES,
  reads('Machines', `${OURS}/machines`),
  reads('Nodes', '/api/v1/nodes'),
  reads('the certificate requests of other hosts', '/apis/certificates.k8s.io/v1/certificatesigningrequests'),
  reads('the names of all sealed tokens', `/api/v1/namespaces/${AGENTS_NAMESPACE}/configmaps`),
  {
    what: 'registers a Node',
    method: 'POST',
    path: '/api/v1/nodes',
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-x' } },
  },
]

const secretNamed = (name: string) => ({ body: { apiVersion: 'v1', kind: 'Secret', metadata: { name } } })

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 the key of the Defender makes another Secret than that of its webhook; the installer may',
    attempt: ({ ask, who }) => ask(who.defender, 'POST', secretsIn(WEBHOOK_NAMESPACE), secretNamed('mine')),
    refused: /^(403|422) .*writes no Secret/s,
    control: ({ ask, who }) => ask(who.installer, 'POST', secretsIn(WEBHOOK_NAMESPACE), secretNamed('mine')),
  },
  ...Object.entries(formsOf('artifacts')).map(([name, who]): Attempt => ({
    name: `S25 ${name} makes a Secret beside its own, and its own is made`,
    attempt: ({ ask }) => ask(who, 'POST', secretsIn(SYSTEM_NAMESPACE), secretNamed('kubenode-artifacts-tls-2')),
    refused: /^(403|422) .*writes no Secret/s,
    control: async ({ ask, who: { installer } }) => {
      await ask(installer, 'DELETE', `${secretsIn(SYSTEM_NAMESPACE)}/kubenode-artifacts-tls`)
      return ask(who, 'POST', secretsIn(SYSTEM_NAMESPACE), secretNamed('kubenode-artifacts-tls'))
    },
  })),
  ...Object.entries(formsOf('artifacts')).flatMap(([name, who]) => attemptsOf(name, who, artifacts)),
  ...Object.entries(formsOf('console')).flatMap(([name, who]) => attemptsOf(name, who, page)),
  ...Object.entries(formsOf('history')).flatMap(([name, who]) => attemptsOf(name, who, page)),
  ...joining.map((each): Attempt => ({
    name: `S25 a join token ${each.what}`,
    attempt: ({ ask, who }) =>
      ask(who.joining, each.method, each.path, each.body === undefined ? {} : { body: each.body }),
    refused: 403,
  })),
]

tryOnServers('the keys of programs that write next to nothing', ATTEMPTS)
