// The attacker is a user with a few rights of their own, such as to define kinds and to evict pods. They gain nothing else by them.
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

async function madeBy({ ask, who }: AttackWorld, path: string, body: object): Promise<void> {
  const { status, text } = await ask(who.installer, 'POST', path, { body })
  if (status !== 201 && status !== 409) throw new Error(`cannot prepare ${path}: ${text}`)
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/shop/leases'
const definition = (version: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'leases.coordination.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://example.org' },
  },
  spec: {
    group: 'coordination.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'leases', singular: 'lease', kind: 'Lease', listKind: 'LeaseList' },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})
const lease = (name: string, spec: object) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec,
})

/** The server has processed it. */
const judged = (world: AttackWorld): Promise<Answer> =>
  eventually(
    () => world.ask(world.who.installer, 'GET', `${DEFINITIONS}/leases.coordination.k8s.io`),
    ({ text }) => text.includes('"NamesAccepted"'),
  )

async function withoutDefinition({ ask, who }: AttackWorld): Promise<void> {
  await ask(who.installer, 'DELETE', `${DEFINITIONS}/leases.coordination.k8s.io`)
  await eventually(
    () => ask(who.installer, 'GET', `${DEFINITIONS}/leases.coordination.k8s.io`),
    ({ status }) => status === 404,
  )
  const { status, text } = await ask(who.installer, 'GET', `${LEASES}/kept`)
  if (status !== 200) throw new Error(`the Lease went with a definition of its name: ${text}`)
}

const DEFINED: readonly Attempt[] = ['v1', 'v9'].map((version) => ({
  name: `who may define kinds puts one (${version}) in the place of Leases, and takes all Leases along with it`,
  attempt: async (world) => {
    await madeBy(world, LEASES, lease('kept', { leaseDurationSeconds: 15 }))
    await madeBy(world, DEFINITIONS, definition(version))
    await judged(world)
    return world.ask(world.who.installer, 'POST', LEASES, { body: lease('odd', { leaseDurationSeconds: 'long' }) })
  },
  refused: 400,
  afterwards: withoutDefinition,
}))

const PODS = '/api/v1/namespaces/shop/pods'
const POLICIES = '/apis/admissionregistration.k8s.io/v1'
const BINDING = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name },
  target: { kind: 'Node', name: 'n-a' },
})
const EVICTION = (name: string) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } })

async function pod(world: AttackWorld, name: string): Promise<void> {
  await madeBy(world, '/api/v1/namespaces/shop/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  })
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'a', image: 'a' }] }
  await madeBy(world, PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec })
}

/** What an administrator refuses, tried until the policy is in force. */
async function forbidden(world: AttackWorld, subresource: string, body: object): Promise<Answer> {
  const name = `no-${subresource}`
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE'], resources: [`pods/${subresource}`] },
  ]
  await madeBy(world, `${POLICIES}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression: `object.metadata.name != 'kept'`, message: `never ${subresource}` }],
    },
  })
  await madeBy(world, `${POLICIES}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  })
  await pod(world, 'kept')
  return eventually(
    () => world.ask(world.who.tenant, 'POST', `${PODS}/kept/${subresource}?dryRun=All`, { body }),
    ({ status }) => status >= 400,
  )
}

const ASKED_OF_PODS: readonly Attempt[] = [
  {
    name: 'who may evict pods evicts one that a policy keeps',
    attempt: (world) => forbidden(world, 'eviction', EVICTION('kept')),
    control: async (world) => {
      await pod(world, 'goes')
      return world.ask(world.who.tenant, 'POST', `${PODS}/goes/eviction`, { body: EVICTION('goes') })
    },
    refused: /never eviction/,
  },
  {
    name: 'who may bind pods binds one that a policy keeps',
    attempt: (world) => forbidden(world, 'binding', BINDING('kept')),
    control: async (world) => {
      await pod(world, 'tried')
      return world.ask(world.who.tenant, 'POST', `${PODS}/tried/binding?dryRun=All`, { body: BINDING('tried') })
    },
    refused: /never binding/,
    afterwards: async ({ ask, who }) => {
      const { text } = await ask(who.tenant, 'GET', `${PODS}/tried`)
      if (text.includes('"nodeName"')) throw new Error('a dry run bound the pod')
    },
  },
]

const MACHINE_A = '/apis/kubenode.io/v1alpha1/machines/m-a'
const leaving = (value: boolean | null) => ({ body: { spec: { leaving: value } } })

const ORDERED_TO_LEAVE: readonly Attempt[] = [
  {
    name: 'who may write Machines orders the agent of one to leave its host',
    attempt: ({ ask, who }) => ask(who.installer, 'PATCH', MACHINE_A, leaving(true)),
    control: ({ ask, who }) => ask(who.controllers, 'PATCH', `${MACHINE_A}?dryRun=All`, leaving(true)),
    refused: /only the machine controller writes spec\.leaving/,
  },
  {
    name: 'who may create Machines brings the order along, as in a restored backup',
    attempt: ({ ask, who }) =>
      ask(who.installer, 'POST', MACHINE_A.replace('/m-a', ''), {
        body: {
          apiVersion: 'kubenode.io/v1alpha1',
          kind: 'Machine',
          metadata: { name: 'm-restored' },
          spec: { leaving: true },
        },
      }),
    refused: /only the machine controller writes spec\.leaving/,
  },
]

const sshMachine = (name: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name },
  spec: {
    channel: 'Agent',
    provider: { name: 'static' },
    ssh: { host: 'evil.example.org', firstUse: true, secretRef: { name: 'hosts-ssh' } },
  },
})
const sshSet = (
  secret: string,
  hosts = [{ name: 'evil', host: 'evil.example.org', hostKey: 'ssh-ed25519 AAAAC3Nz' }],
) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: 's-ssh' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { provider: { name: 'static' }, ssh: { secretRef: { name: secret }, hosts } },
    },
  },
})
const MACHINE_SETS = '/apis/kubenode.io/v1alpha1/machinesets?dryRun=All'
/** The owner that a set writes into its machines. */
const OF_SET = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: 's-ssh', uid: 'u', controller: true }
const MACHINES = MACHINE_A.replace('/m-a', '?dryRun=All')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** May write Machines, and may use one Secret with a key. */
async function machineKeeper(world: AttackWorld): Promise<Who> {
  const user = 'keeper'
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  await madeBy(world, `${RBAC}/clusterroles`, {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name: 'machine-keeper' },
    rules: [
      {
        apiGroups: ['kubenode.io'],
        resources: ['machines', 'machinesets'],
        verbs: ['get', 'create', 'update', 'patch'],
      },
    ],
  })
  await madeBy(world, `${RBAC}/clusterrolebindings`, {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'machine-keeper' },
    subjects,
    roleRef: roleRef('ClusterRole', 'machine-keeper'),
  })
  const system = `${RBAC}/namespaces/kubenode-system`
  await madeBy(world, `${system}/roles`, {
    apiVersion,
    kind: 'Role',
    metadata: { name: 'own-hosts' },
    rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['own-hosts'], verbs: ['use'] }],
  })
  await madeBy(world, `${system}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata: { name: 'own-hosts' },
    subjects,
    roleRef: roleRef('Role', 'own-hosts'),
  })
  return { user, groups: ['system:authenticated'] }
}

const withSecret = (name: string, rescue?: string) => {
  const { spec, ...rest } = sshMachine('m-ssh')
  const more = rescue === undefined ? {} : { rescue: { secretRef: { name: rescue } } }
  return { ...rest, spec: { ...spec, ssh: { ...spec.ssh, secretRef: { name }, ...more } } }
}

const SSH_SERVERS: readonly Attempt[] = [
  {
    name: 'S36 who may write Machines lets a key that they may not use log in to a server of theirs',
    attempt: async (world) =>
      world.ask(await machineKeeper(world), 'POST', MACHINES, { body: withSecret('hosts-ssh') }),
    control: async (world) =>
      eventually(
        async () => world.ask(await machineKeeper(world), 'POST', MACHINES, { body: withSecret('own-hosts') }),
        ({ status }) => status < 400,
      ),
    refused: /needs the right to its Secrets: verb use on secrets in kubenode-system/,
  },
  {
    name: 'S36 and with a key of theirs for the join, they name a rescue key that they may not use',
    attempt: async (world) =>
      world.ask(await machineKeeper(world), 'POST', MACHINES, { body: withSecret('own-hosts', 'hosts-ssh') }),
    control: async (world) =>
      eventually(
        async () =>
          world.ask(await machineKeeper(world), 'POST', MACHINES, { body: withSecret('own-hosts', 'own-hosts') }),
        ({ status }) => status < 400,
      ),
    refused: /needs the right to its Secrets/,
  },
  {
    name: 'S36 and gives a Machine that exists such a server',
    attempt: async (world) =>
      world.ask(await machineKeeper(world), 'PATCH', `${MACHINE_A}?dryRun=All`, {
        body: { spec: withSecret('hosts-ssh').spec },
      }),
    refused: /needs the right to its Secrets/,
  },
  {
    name: 'S36 or lists such servers in a MachineSet, whose Machines the controllers make',
    attempt: async (world) =>
      world.ask(await machineKeeper(world), 'POST', MACHINE_SETS, { body: sshSet('hosts-ssh') }),
    control: async (world) =>
      eventually(
        async () => world.ask(await machineKeeper(world), 'POST', MACHINE_SETS, { body: sshSet('own-hosts') }),
        ({ status }) => status < 400,
      ),
    refused: /spec\.template\.spec\.ssh needs the right to its Secrets/,
  },
  {
    name: 'S36 the key of the controllers names a server for a Machine of no set',
    attempt: ({ ask, who }) => ask(who.controllers, 'POST', MACHINES, { body: sshMachine('m-ssh') }),
    control: ({ ask, who }) =>
      ask(who.controllers, 'POST', MACHINES, {
        body: { ...sshMachine('m-ssh'), metadata: { name: 'm-ssh', ownerReferences: [OF_SET] } },
      }),
    refused: /needs the right to its Secrets/,
  },
  {
    name: 'S36 and lists servers in a set',
    attempt: ({ ask, who }) => ask(who.controllers, 'POST', MACHINE_SETS, { body: sshSet('hosts-ssh') }),
    control: ({ ask, who }) => ask(who.installer, 'POST', MACHINE_SETS, { body: sshSet('hosts-ssh') }),
    refused: 403,
  },
  {
    name: 'S36 the key of the approver names a server for a Machine',
    attempt: ({ ask, who }) =>
      ask(who.approver, 'PATCH', `${MACHINE_A}?dryRun=All`, { body: { spec: sshMachine('m-a').spec } }),
    refused: 403,
  },
  {
    name: 'S36 a person replaces the host key that was accepted on first use',
    attempt: ({ ask, who }) =>
      ask(who.installer, 'PATCH', `${MACHINE_A}/status?dryRun=All`, {
        body: {
          status: {
            join: {
              step: 'Reach',
              attempt: 1,
              began: '2026-01-01T00:00:00Z',
              since: '2026-01-01T00:00:00Z',
              request: 'r',
              hostKey: 'ssh-ed25519 AAAA',
            },
          },
        },
      }),
    refused: /only the controllers write status\.join/,
  },
]

const HOLDS = '/apis/kubenode.io/v1alpha1/operationalholds'
const holdOf = (name: string, author: string, reason = 'an incident') => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationalHold',
  metadata: { name },
  spec: {
    target: { kind: 'MachineComponentSet', name: 'base' },
    effect: 'Pause',
    reason,
    author,
    until: '2099-01-01T00:00:00Z',
  },
})

/** The tenant may write holds. */
async function mayHold(world: AttackWorld): Promise<void> {
  const [apiVersion, metadata] = ['rbac.authorization.k8s.io/v1', { name: 'holders' }]
  const rules = [
    { apiGroups: ['kubenode.io'], resources: ['operationalholds'], verbs: ['create', 'get', 'update', 'patch'] },
  ]
  await madeBy(world, `/apis/${apiVersion}/clusterroles`, { apiVersion, kind: 'ClusterRole', metadata, rules })
  await madeBy(world, `/apis/${apiVersion}/clusterrolebindings`, {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'holders' },
    subjects: [{ kind: 'User', name: world.who.tenant.user, apiGroup: 'rbac.authorization.k8s.io' }],
  })
  await madeBy(world, HOLDS, holdOf('of-the-installer', world.who.installer.user))
}
const holds =
  (name: string, body: (world: AttackWorld) => object) =>
  async (world: AttackWorld): Promise<Answer> => {
    await mayHold(world)
    const [method, path] = name === '' ? (['POST', HOLDS] as const) : (['PATCH', `${HOLDS}/${name}`] as const)
    return world.ask(world.who.tenant, method, `${path}?dryRun=All`, { body: body(world) })
  }
const OF_ANOTHER = /spec\.author must be who makes the hold/

const HELD_IN_ANOTHER_NAME: readonly Attempt[] = [
  {
    name: 'who may write holds makes one in the name of another',
    attempt: holds('', () => holdOf('mine', 'ada@example.org')),
    control: holds('', ({ who }) => holdOf('mine', who.tenant.user)),
    refused: OF_ANOTHER,
  },
  {
    name: 'who may write holds puts other words above the name of another',
    attempt: holds('of-the-installer', () => ({ spec: { reason: 'never mind' } })),
    control: holds('of-the-installer', ({ who }) => ({ spec: { reason: 'never mind', author: who.tenant.user } })),
    refused: OF_ANOTHER,
  },
  {
    name: 'who may write holds gives their own to another',
    attempt: holds('of-the-installer', () => ({ spec: { author: 'ada@example.org' } })),
    control: holds('of-the-installer', () => ({ metadata: { labels: { team: 'shop' } } })),
    refused: OF_ANOTHER,
  },
]

tryOnServers('a person with a few rights', [
  ...DEFINED,
  ...ASKED_OF_PODS,
  ...ORDERED_TO_LEAVE,
  ...SSH_SERVERS,
  ...HELD_IN_ANOTHER_NAME,
])
