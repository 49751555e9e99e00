// The attacker is at the accounts of agents, on a cluster where agents have tokens instead of certificates: in their namespace, with the account of one agent,
// with a join account, or with a program's key.
import {
  AGENT_SIGNER,
  AGENT_VERB,
  AGENTS_NAMESPACE,
  ANNOTATIONS,
  JOIN_ACCOUNTS_GROUP,
  JOIN_NAMESPACE,
  SYSTEM_NAMESPACE,
  TOKEN_SIGNER,
  agentAccountName,
  joinAccountName,
  joinAccountUser,
} from '#api/names.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import {
  type Attempt,
  type AttackWorld,
  type Identities,
  machineUidOf,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const CORE = '/api/v1/namespaces'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const HERE = `${CORE}/${AGENTS_NAMESPACE}`
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

type Name = keyof Identities
const by =
  (
    name: Name | ((world: AttackWorld) => Who),
    method: string,
    path: string | ((world: AttackWorld) => string),
    body?: unknown,
  ) =>
  (world: AttackWorld) =>
    world.ask(
      typeof name === 'string' ? world.who[name] : name(world),
      method,
      typeof path === 'string' ? path : path(world),
      body === undefined
        ? {}
        : { body: typeof body === 'function' ? (body as (w: AttackWorld) => unknown)(world) : body },
    )

const accountOf =
  (agent: 'agentA' | 'agentB') =>
  ({ who }: AttackWorld): string =>
    agentAccountName(machineUidOf(who[agent]))
const tokenOf =
  (agent: 'agentA' | 'agentB') =>
  (world: AttackWorld): string =>
    `${HERE}/serviceaccounts/${accountOf(agent)(world)}/token`

const request = (spec: object = { expirationSeconds: 3_600 }) => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  spec,
})
const mayMint = by('approver', 'POST', tokenOf('agentA'), request())

const pod = (world: AttackWorld) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'thief' },
  spec: {
    serviceAccountName: accountOf('agentA')(world),
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'a',
        image: 'a',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
})
const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'a', image: 'a' }] },
}
const workload = (kind: string) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'thief' },
  spec: { selector: { matchLabels: { a: 'b' } }, template },
})
const tokenSecret = (world: AttackWorld) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/service-account-token',
  metadata: { name: 'stolen', annotations: { 'kubernetes.io/service-account.name': accountOf('agentA')(world) } },
})
const account = (name: string) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })

const role = (name: string, rules: readonly object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name },
  rules,
})
const machineRule = (...names: readonly string[]) => ({
  apiGroups: ['kubenode.io'],
  resources: ['machines'],
  verbs: [AGENT_VERB],
  resourceNames: names,
})
const binding = (name: string, roleRef: string, subjects: readonly object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: roleRef },
  subjects,
})

/** Every right in the namespace, as a careless administrator gives it. */
const withEveryRight = async ({ ask, who }: AttackWorld): Promise<void> => {
  const everything = role('tenant', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
  const subjects = [{ kind: 'User', name: who.tenant.user, apiGroup: 'rbac.authorization.k8s.io' }]
  for (const [kind, body] of [
    ['roles', everything],
    ['rolebindings', binding('tenant', 'tenant', subjects)],
  ] as const) {
    const { status, text } = await ask(who.installer, 'POST', `${RBAC}/namespaces/${AGENTS_NAMESPACE}/${kind}`, {
      body,
    })
    if (status !== 201 && status !== 409) throw new Error(`the installer cannot bind: ${text}`)
  }
}
const tenant =
  (attempt: Attempt['attempt']): Attempt['attempt'] =>
  async (world) => {
    await withEveryRight(world)
    return attempt(world)
  }

const NOBODY = /no user makes pods, workloads or Secrets/
const ONLY_TOKENS = /only the approver makes tokens|only the installer makes or scales workloads, makes pods and tokens/
const ONLY_WRITES = /only the approver and the installer write/

const THINGS: Readonly<Record<string, readonly [path: string, body: unknown]>> = {
  'a pod': [`${HERE}/pods`, pod],
  'a Deployment': [`/apis/apps/v1/namespaces/${AGENTS_NAMESPACE}/deployments`, workload('Deployment')],
  'a DaemonSet': [`/apis/apps/v1/namespaces/${AGENTS_NAMESPACE}/daemonsets`, workload('DaemonSet')],
  'a Secret that turns into a token': [`${HERE}/secrets`, tokenSecret],
}

const IN_THE_NAMESPACE: readonly Attempt[] = [
  ...Object.entries(THINGS).flatMap(([what, [path, body]]): Attempt[] => [
    { name: `S25 an agent makes ${what} beside the accounts`, attempt: by('agentA', 'POST', path, body), refused: 403 },
    {
      name: `S25 a tenant with every right in the namespace makes ${what}`,
      attempt: tenant(by('tenant', 'POST', path, body)),
      refused: 403,
    },
    { name: `S25 the installer makes ${what}`, attempt: by('installer', 'POST', path, body), refused: NOBODY },
    { name: `S25 the approver makes ${what}`, attempt: by('approver', 'POST', path, body), refused: 403 },
  ]),
  ...(['tenant', 'installer'] as const).map((who): Attempt => ({
    name: `S25 the ${who} makes a token of an agent`,
    attempt:
      who === 'tenant'
        ? tenant(by(who, 'POST', tokenOf('agentA'), request()))
        : by(who, 'POST', tokenOf('agentA'), request()),
    control: mayMint,
    refused: ONLY_TOKENS,
  })),
  {
    name: 'S25 a tenant with every right in the namespace gives an account the identity of another Machine',
    attempt: tenant(
      by('tenant', 'POST', `${RBAC}/namespaces/${AGENTS_NAMESPACE}/roles`, role('mine', [machineRule('m-b')])),
    ),
    refused: ONLY_WRITES,
  },
  {
    name: 'S25 a tenant with every right in the namespace makes an account',
    attempt: tenant(by('tenant', 'POST', `${HERE}/serviceaccounts`, account('machine-of-mine'))),
    refused: ONLY_WRITES,
  },
  {
    name: 'S25 a tenant with every right in the namespace replaces a sealed token',
    attempt: tenant(
      by('tenant', 'POST', `${HERE}/configmaps`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'machine-x' },
      }),
    ),
    refused: ONLY_WRITES,
  },
  {
    name: 'S25 a tenant with every right in the namespace lifts the quota',
    attempt: tenant(by('tenant', 'DELETE', `${HERE}/resourcequotas/no-pods`)),
    refused: ONLY_WRITES,
  },
]

const OF_AN_AGENT: readonly Attempt[] = [
  ...(['agentA', 'agentB'] as const).map((of): Attempt => ({
    name: `S25 an agent makes a token of ${of === 'agentA' ? 'its own account' : 'the account of another agent'}`,
    attempt: by('agentA', 'POST', tokenOf(of), request()),
    control: mayMint,
    refused: 403,
  })),
  {
    name: 'S25 an agent gives its account the identity of another Machine',
    attempt: by(
      'agentA',
      'PATCH',
      (world) => `${RBAC}/namespaces/${AGENTS_NAMESPACE}/roles/${accountOf('agentA')(world)}`,
      { rules: [machineRule('m-b')] },
    ),
    refused: 403,
  },
  { name: 'S25 an agent lists the sealed tokens', attempt: by('agentA', 'GET', `${HERE}/configmaps`), refused: 403 },
  { name: 'S25 an agent lists the accounts', attempt: by('agentA', 'GET', `${HERE}/serviceaccounts`), refused: 403 },
  {
    name: 'S26 an agent with a token asks for a certificate, which would outlive its account',
    attempt: async ({ ask, who }) => {
      const body = await requestOf(AGENT_SIGNER, 'outlives')
      return ask(who.agentA, 'POST', REQUESTS, { body })
    },
    refused: 403,
  },
  {
    name: 'S25 the account that every namespace has acts as an agent',
    attempt: ({ ask, who: { agentA } }) =>
      ask(
        { ...agentA, user: `system:serviceaccount:${AGENTS_NAMESPACE}:default` },
        'PATCH',
        `${OURS}/machines/m-a/status`,
        { body: { status: { agent: { version: '9.9.9' } } } },
      ),
    control: by('agentA', 'PATCH', `${OURS}/machines/m-a/status`, { status: { agent: { version: '1.0.0' } } }),
    refused: /known by the name of its Machine/,
  },
  {
    name: 'S26 a revoked agent writes the status of its Machine before its account is deleted',
    attempt: async (world) => {
      const uid = machineUidOf(world.who.agentA)
      await annotate(world, {
        [ANNOTATIONS.revoked]: JSON.stringify({ uid, reason: 'stolen', keys: ['1'.repeat(64)] }),
        [ANNOTATIONS.agentKey]: JSON.stringify({ uid, key: '1'.repeat(64) }),
      })
      return by('agentA', 'PATCH', `${OURS}/machines/m-a/status`, { status: { agent: { version: '9.9.9' } } })(world)
    },
    control: async (world) => {
      const uid = machineUidOf(world.who.agentA)
      await annotate(world, { [ANNOTATIONS.agentKey]: JSON.stringify({ uid, key: '2'.repeat(64), tokenKey: 'x' }) })
      return by('agentA', 'PATCH', `${OURS}/machines/m-a/status`, { status: { agent: { version: '1.0.0' } } })(world)
    },
    afterwards: async (world) => annotate(world, { [ANNOTATIONS.revoked]: null, [ANNOTATIONS.agentKey]: null }),
    refused: /the key of this agent was revoked/,
  },
]

async function annotate({ admin }: AttackWorld, annotations: object): Promise<void> {
  await admin.raw({
    method: 'PATCH',
    path: `${OURS}/machines/m-a`,
    body: { metadata: { annotations } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
}

async function requestOf(signerName: string, name: string): Promise<object> {
  const pem = await signingRequest(await newPrivateKey(), { commonName: 'kubenode:agent:m-a' })
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName, usages: ['client auth'], expirationSeconds: 600 },
  }
}

/** A host with the join account of m-a. */
const joiner = ({ who: { agentA } }: AttackWorld): Who => ({
  user: joinAccountUser(machineUidOf(agentA)),
  groups: ['system:serviceaccounts', JOIN_ACCOUNTS_GROUP, 'system:authenticated'],
})
const asksFor =
  (signer: string, name: string): Attempt['attempt'] =>
  async (world) =>
    world.ask(joiner(world), 'POST', `${REQUESTS}?dryRun=All`, { body: await requestOf(signer, name) })

const OF_A_JOIN_ACCOUNT: readonly Attempt[] = [
  {
    name: 'S25 a join account asks for a certificate',
    attempt: asksFor(AGENT_SIGNER, 'for-certificate'),
    control: asksFor(TOKEN_SIGNER, 'for-token'),
    refused: /asks kubenode.io\/agent-token, and nobody else/,
  },
  ...[
    '/api/v1/nodes',
    `${OURS}/machines`,
    `${OURS}/machines/m-a`,
    `${CORE}/${JOIN_NAMESPACE}/secrets`,
    `${HERE}/configmaps`,
  ].map((path): Attempt => ({
    name: `S25 a join account reads ${path}`,
    attempt: by(joiner, 'GET', path),
    refused: 403,
  })),
  {
    name: 'S25 a join account writes the status of its Machine',
    attempt: by(joiner, 'PATCH', `${OURS}/machines/m-a/status`, { status: { agent: { version: '9.9.9' } } }),
    refused: 403,
  },
  {
    name: 'S25 a join account makes another token of itself',
    attempt: by(
      joiner,
      'POST',
      (world) => `${CORE}/${JOIN_NAMESPACE}/serviceaccounts/${joinAccountName(machineUidOf(world.who.agentA))}/token`,
      request(),
    ),
    refused: 403,
  },
]

const roles = `${RBAC}/namespaces/${AGENTS_NAMESPACE}/roles`
const bindings = `${RBAC}/namespaces/${AGENTS_NAMESPACE}/rolebindings`
const PLAIN = /the identity of one Machine and its Node, and no other right|is attempting to grant|is forbidden/

const OF_PROGRAMS: readonly Attempt[] = [
  ...(['controllers', 'sync', 'defender'] as const).flatMap((thief): Attempt[] => [
    {
      name: `S25 the key of ${thief} makes a token of an agent`,
      attempt: by(thief, 'POST', tokenOf('agentA'), request()),
      control: mayMint,
      refused: 403,
    },
    {
      name: `S25 the key of ${thief} makes an account of an agent`,
      attempt: by(thief, 'POST', `${HERE}/serviceaccounts`, account('machine-x')),
      refused: 403,
    },
  ]),
  {
    name: 'S25 the key of the approver makes a token of an agent for a day',
    attempt: by('approver', 'POST', tokenOf('agentA'), request({ expirationSeconds: 86_400 })),
    control: mayMint,
    refused: /a token of an agent is valid for at most 3600 seconds/,
  },
  {
    name: 'S25 the key of the approver makes a token of a program',
    attempt: by('approver', 'POST', `${CORE}/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`, request()),
    refused: 403,
  },
  {
    name: 'S25 the key of the approver makes a token of the account that every namespace has',
    attempt: by('approver', 'POST', `${HERE}/serviceaccounts/default/token`, request()),
    refused: /^40[34]/,
  },
  {
    name: 'S25 the key of the approver gives an account more than one identity',
    attempt: by('approver', 'POST', roles, role('machine-x', [machineRule('m-a', 'm-b')])),
    control: by('approver', 'POST', `${roles}?dryRun=All`, role('machine-x', [machineRule('m-a')])),
    refused: PLAIN,
  },
  {
    name: 'S25 the key of the approver gives an account the identity of all Machines',
    attempt: by('approver', 'POST', roles, role('machine-x', [{ ...machineRule(), resourceNames: [] }])),
    refused: PLAIN,
  },
  {
    name: 'S25 the key of the approver gives an account its own rights',
    attempt: by(
      'approver',
      'POST',
      bindings,
      binding('machine-x', 'kubenode:approver', [
        { kind: 'ServiceAccount', name: 'machine-x', namespace: AGENTS_NAMESPACE },
      ]),
    ),
    refused: PLAIN,
  },
  {
    name: 'S25 the key of the approver leaves itself a way back',
    attempt: by('approver', 'POST', bindings, (world: AttackWorld) =>
      binding(accountOf('agentA')(world), accountOf('agentA')(world), [
        { kind: 'User', name: 'thief', apiGroup: 'rbac.authorization.k8s.io' },
      ]),
    ),
    refused: PLAIN,
  },
]

tryOnServers(
  'at the accounts of agents',
  [...IN_THE_NAMESPACE, ...OF_AN_AGENT, ...OF_A_JOIN_ACCOUNT, ...OF_PROGRAMS],
  'serviceAccount',
)
