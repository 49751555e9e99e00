// The attacker has the key of one agent: other machines, their Nodes, heartbeats, certificates and secrets stay out of reach.
import {
  AGENT_REPORTER,
  AGENT_SOURCES_PREFIX,
  ANNOTATIONS,
  LABELS,
  SYSTEM_NAMESPACE,
  agentAccountUser,
  agentKeyGroup,
  agentLeaseName,
  machineUidGroup,
} from '#api/names.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import {
  accountOfAgent,
  type Attempt,
  type AttackWorld,
  type Who,
  machineUidOf,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`
const lease = (name: string, machineUid = '') => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, annotations: { [ANNOTATIONS.machineUid]: machineUid } },
  spec: { holderIdentity: 'thief' },
})
const PASSED = {
  run: '0123456789abcdef',
  node: '00000000-0000-4000-8000-000000000001',
  wanted: 'script memtest 1.0.0',
  phase: 'Passed',
  attempt: 1,
  since: '2026-01-01T00:00:00Z',
}
const RESTART = { component: 'beacon', rebootingSince: '2026-01-01T00:00:00Z', at: '2026-01-01T00:15:00Z' }

const SSH_JOIN = {
  step: 'Reach',
  attempt: 1,
  began: '2026-01-01T00:00:00Z',
  since: '2026-01-01T00:00:00Z',
  request: 'r',
  hostKey: 'ssh-ed25519 AAAA',
}
const phase = (value: string) => ({ body: { status: { phase: value } } })

const UID = machineUidGroup('')
const uidOf = machineUidOf
const DEAD = '00000000-0000-0000-0000-00000000dead'
/** The key of a deleted Machine of the same name: everything equal except the uid. A token of its account would not even be accepted. */
const deleted = (who: Who): Who =>
  who.user === agentAccountUser(uidOf(who))
    ? accountOfAgent(DEAD)
    : { ...who, groups: who.groups.map((g) => (g.startsWith(UID) ? machineUidGroup(DEAD) : g)) }
const broken = { status: { conditions: [{ type: 'KernelDeadlock', status: 'True' }] } }
/** As all certificates were before they named the uid. */
const withoutUid = (who: Who): Who => ({ ...who, groups: who.groups.filter((g) => !g.startsWith(UID)) })
const version = (value: string) => ({ body: { status: { agent: { version: value } } } })

const keyOf = (digit: string): string => digit.repeat(64)
const withKey = (who: Who, digit: string): Who => ({ ...who, groups: [...who.groups, agentKeyGroup(keyOf(digit))] })
/** Key 1 was stolen and is revoked; key 2 joined after it, and asked for key 3. Undone by the control or afterwards. */
const revokedKeys = async ({ admin, who }: AttackWorld, digits: readonly string[]): Promise<void> => {
  const uid = uidOf(who.agentA)
  const [key, by] = digits.map(keyOf)
  await annotate(admin, {
    [ANNOTATIONS.revoked]: JSON.stringify({ uid, reason: 'stolen', keys: [keyOf('1')] }),
    [ANNOTATIONS.agentKey]: JSON.stringify({ uid, key, by }),
  })
}
const unrevoked = async ({ admin }: AttackWorld): Promise<void> => {
  await annotate(admin, { [ANNOTATIONS.revoked]: null, [ANNOTATIONS.agentKey]: null })
}
const annotate = (admin: AttackWorld['admin'], annotations: object): Promise<unknown> =>
  admin.raw({
    method: 'PATCH',
    path: `${OURS}/machines/m-a`,
    body: { metadata: { annotations } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
const reports =
  (as: (who: Who) => Who, recorded: readonly string[]): Attempt['attempt'] =>
  async (world) => {
    await revokedKeys(world, recorded)
    return world.ask(as(world.who.agentA), 'PATCH', `${OURS}/machines/m-a/status`, version('9.9.9'))
  }

/** A request that the thief makes with the key of agent A. */
const thief =
  (method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.agentA, method, path, body === undefined ? {} : { body })

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
const CORE_EVENTS = '/api/v1/namespaces/default/events'
/** As an agent makes them: of Machine m-a on Node n-a, unless said otherwise. */
const event = (who: Who, name: string, more: object = {}) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name, namespace: 'default', annotations: { [ANNOTATIONS.machineUid]: uidOf(who) } },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: AGENT_REPORTER,
  reportingInstance: 'm-a',
  action: 'CheckTrust',
  reason: 'TrustRefused',
  type: 'Warning',
  note: 'the document is not signed',
  regarding: machineRef('m-a', uidOf(who)),
  ...more,
})
const machineRef = (name: string, uid: string) => ({ apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name, uid })
const nodeRef = (name: string) => ({ apiVersion: 'v1', kind: 'Node', name, uid: 'some' })
type More = object | ((world: AttackWorld) => object)
const reportsEvent =
  (name: string, more: More, as: (who: Who) => Who = (w) => w) =>
  (world: AttackWorld) => {
    const who = as(world.who.agentA)
    return world.ask(who, 'POST', EVENTS, { body: event(who, name, typeof more === 'function' ? more(world) : more) })
  }
/** Of the agent itself, made before the attempt. */
const changesEvent =
  (name: string, body: object, as: (who: Who) => Who = (w) => w) =>
  async (world: AttackWorld) => {
    const { ask, who } = world
    const made = await ask(who.agentA, 'POST', EVENTS, { body: event(who.agentA, name) })
    if (made.status !== 201 && made.status !== 409) throw new Error(`an agent cannot report: ${made.text}`)
    return ask(as(who.agentA), 'PATCH', `${EVENTS}/${name}`, { body })
  }
const seriesOf = (count: number) => ({ series: { count, lastObservedTime: '2026-01-01T00:00:01.000000Z' } })
/** Of the Defender, for example: no other client may change it. */
const anothersEvent = async ({ admin, who: { agentA } }: AttackWorld, name: string): Promise<string> => {
  const body = event(agentA, name, { reportingController: 'kubenode.io/defender', reportingInstance: 'defender-1' })
  await admin.raw({ method: 'POST', path: EVENTS, body })
  return `${EVENTS}/${name}`
}

const FORGED: readonly (readonly [what: string, more: More, says: RegExp])[] = [
  ['an event of the Defender', { reportingController: 'kubenode.io/defender' }, /only its own events/],
  ['an event of another agent', { reportingInstance: 'm-b' }, /only its own events/],
  ['an event with a source of before', { deprecatedSource: { component: 'kubenode.io/defender' } }, /^4(03|22) /],
  [
    'an event about another Machine',
    ({ who }) => ({ regarding: machineRef('m-b', uidOf(who.agentB)) }),
    /its own Machine and its own Node only/,
  ],
  [
    'an event about its Machine under the uid of another',
    ({ who }) => ({ regarding: machineRef('m-a', uidOf(who.agentB)) }),
    /its own Machine and its own Node only/,
  ],
  ['an event about another Node', { regarding: nodeRef('n-b') }, /its own Machine and its own Node only/],
  [
    'an event about a Pod',
    { regarding: { apiVersion: 'v1', kind: 'Pod', name: 'n-a' } },
    /its own Machine and its own Node only/,
  ],
  [
    'an event that relates another Node to its own',
    { related: nodeRef('n-b') },
    /its own Machine and its own Node only/,
  ],
  ['a note that steers a terminal', { note: 'a\u001b[2Jb' }, /one line/],
  ['a note with a line of its own', { note: 'a\nb' }, /one line/],
  ['a note that turns the reading direction', { note: 'a\u202eb' }, /one line/],
  ['a reason that steers a terminal', { reason: 'a\u001b[2Jb' }, /one line/],
  ['a note of 2,000 characters', { note: 'x'.repeat(2_000) }, /^4(03|22) /],
  [
    'an event without the uid of its Machine',
    { metadata: { name: 'unmarked', namespace: 'default' } },
    /no annotation but|another Machine/,
  ],
]

const OF_EVENTS: readonly Attempt[] = [
  {
    name: 'S33 writes an event in the form of before',
    attempt: thief('POST', CORE_EVENTS, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'core', namespace: 'default' },
      involvedObject: nodeRef('n-b'),
      reason: 'Broken',
      message: 'it is not',
    }),
    control: reportsEvent('control-machine', {}),
    refused: 403,
  },
  ...FORGED.map(([what, more, refused], n): Attempt => ({
    name: `S33 reports ${what}`,
    attempt: reportsEvent(`forged-${n}`, more),
    refused,
  })),
  {
    name: 'S33 reports an event with a label',
    attempt: ({ ask, who: { agentA } }) => {
      const body = event(agentA, 'labelled')
      return ask(agentA, 'POST', EVENTS, { body: { ...body, metadata: { ...body.metadata, labels: { a: 'b' } } } })
    },
    control: reportsEvent('control-node', {
      regarding: nodeRef('n-a'),
      reportingController: `${AGENT_SOURCES_PREFIX}kernel-monitor`,
    }),
    refused: /has no labels/,
  },
  {
    name: 'S33 reports an event that goes with another object',
    attempt: ({ ask, who: { agentA } }) => {
      const body = event(agentA, 'owned')
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n-b', uid: 'x' }]
      return ask(agentA, 'POST', EVENTS, { body: { ...body, metadata: { ...body.metadata, ownerReferences } } })
    },
    refused: /sets no ownerReferences|names owners only of kinds of kubenode.io/,
  },
  {
    name: 'S33 reports an event in our namespace',
    attempt: ({ ask, who: { agentA } }) => {
      const body = event(agentA, 'elsewhere')
      const metadata = { ...body.metadata, namespace: SYSTEM_NAMESPACE }
      const regarding = { ...body.regarding, namespace: SYSTEM_NAMESPACE }
      return ask(agentA, 'POST', EVENTS.replace('default', SYSTEM_NAMESPACE), {
        body: { ...body, metadata, regarding },
      })
    },
    refused: /its own events, and nothing else/,
  },
  {
    name: 'S33 changes an event of the Defender',
    attempt: async (world) =>
      world.ask(world.who.agentA, 'PATCH', await anothersEvent(world, 'of-the-defender'), { body: seriesOf(9) }),
    control: changesEvent('repeated', seriesOf(2)),
    refused: /only its own events/,
  },
  {
    name: 'S33 changes an event of the Defender in the form of before',
    attempt: async (world) => {
      await anothersEvent(world, 'of-the-defender')
      return world.ask(world.who.agentA, 'PATCH', `${CORE_EVENTS}/of-the-defender`, {
        body: { message: 'all is well' },
      })
    },
    refused: 403,
  },
  {
    name: 'S26 with the key of a deleted Machine changes an event of the new one of its name',
    attempt: changesEvent('repeated', seriesOf(7), deleted),
    refused: /another Machine|its own Machine|only its own events/,
  },
  {
    name: 'S26 with the key of a deleted Machine reports an event about the new one of its name',
    attempt: reportsEvent('late', ({ who }) => ({ regarding: machineRef('m-a', uidOf(who.agentA)) }), deleted),
    refused: /its own Machine and its own Node only|only its own events/,
  },
]

const requests =
  (name: string, metadata: object, blanks = 0): Attempt['attempt'] =>
  async ({ ask, who }) => {
    const pem = await signingRequest(await newPrivateKey(), { commonName: 'kubenode:agent:m-a' })
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name, ...metadata },
      spec: {
        request: Buffer.from(`${pem}${'\n'.repeat(blanks)}`).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      },
    }
    return ask(who.agentA, 'POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All', { body })
  }

const condition = (lastTransitionTime: unknown) => ({
  status: { conditions: [{ type: 'DiskPressure', status: 'True', reason: 'Full', message: '', lastTransitionTime }] },
})

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 writes the status of another Machine',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-b/status`, {
        body: { status: { agent: { version: '9.9.9' } } },
      }),
    control: ({ ask, who }) =>
      ask(who.agentB, 'PATCH', `${OURS}/machines/m-b/status`, {
        body: { status: { agent: { version: '1.0.0' } } },
      }),
    refused: /^40[03].*its own Machine/,
  },
  {
    name: 'S25 says which Node its Machine is, and so becomes another node',
    attempt: thief('PATCH', `${OURS}/machines/m-a/status`, { status: { nodeRef: { name: 'n-b', uid: 'of-n-b' } } }),
    refused: /an agent does not say .*nodeRef/,
  },
  {
    name: 'S25 says that its Machine is Ready',
    attempt: ({ ask, who }) => ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status`, phase('Ready')),
    refused: /an agent does not say .*phase/,
  },
  {
    name: 'S36 names an SSH server for its Machine',
    attempt: thief('PATCH', `${OURS}/machines/m-a`, {
      spec: { ssh: { host: 'h', secretRef: { name: 's' }, firstUse: true } },
    }),
    refused: 403,
  },
  {
    name: 'S36 says which host key was accepted for its Machine',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, { body: { status: { join: SSH_JOIN } } }),
    control: ({ ask, who }) =>
      ask(who.controllers, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, { body: { status: { join: SSH_JOIN } } }),
    refused: /only the controllers write status\.join/,
  },
  {
    name: 'S25 says which host was created for its Machine',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status`, {
        body: {
          status: {
            provisioning: { attempt: 1, token: '0'.repeat(60), since: '2026-01-01T00:00:00Z', answer: 'Host' },
          },
        },
      }),
    refused: /an agent does not say .*provisioning/,
  },
  {
    name: 'S25 says that the provider has restarted its host already',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, { body: { status: { powerCycle: RESTART } } }),
    control: ({ ask, who }) =>
      ask(who.controllers, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, {
        body: { status: { powerCycle: RESTART } },
      }),
    refused: /an agent does not say .*powerCycle/,
  },
  {
    name: 'S25 says that its own node has passed its acceptance',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, { body: { status: { acceptance: PASSED } } }),
    control: ({ ask, who }) =>
      ask(who.controllers, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, {
        body: { status: { acceptance: PASSED } },
      }),
    refused: /an agent does not say .*acceptance/,
  },
  ...[[], ['2026-01-01T00:00:00Z'], {}, 1].map((time): Attempt => ({
    name: `S24 stores ${JSON.stringify(time)} as a time`,
    attempt: thief('PATCH', `${OURS}/machines/m-a/status?dryRun=All`, condition(time)),
    control: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status?dryRun=All`, { body: condition('2026-01-01T00:00:00Z') }),
    refused: /^422.*lastTransitionTime/,
  })),
  { name: 'S25 deletes its Machine', attempt: thief('DELETE', `${OURS}/machines/m-a`), refused: 403 },
  {
    name: 'S25 changes what its Machine is to run',
    attempt: thief('PATCH', `${OURS}/machines/m-a`, { spec: { pool: 'mine' } }),
    refused: 403,
  },
  {
    name: 'S25 keeps another agent alive with its heartbeat',
    attempt: thief('POST', LEASES, lease('agent-m-b')),
    control: ({ ask, who }) => ask(who.agentB, 'POST', LEASES, { body: lease('agent-m-b', uidOf(who.agentB)) }),
    refused: /its own Leases/,
  },
  ...[`${LEASES}/agent-m-b`, `${LEASES}/agent-m-a`, `${LEASES}/kubenode-defender`, LEASES, `${LEASES}?watch=true`].map(
    (path): Attempt => ({ name: `S25 reads ${path}`, attempt: thief('GET', path), refused: 403 }),
  ),
  ...['/api/v1/nodes', '/api/v1/nodes?watch=true', `${OURS}/machinecomponents`, `${OURS}/componentconfigs`].map(
    (path): Attempt => ({ name: `S25 lists ${path}`, attempt: thief('GET', path), refused: 403 }),
  ),
  {
    name: 'S25 takes the leadership of the Defender',
    attempt: thief('POST', LEASES, lease('kubenode-defender')),
    refused: /its own Leases|only the program itself writes the Lease/,
  },
  {
    name: 'S25 registers a Node of another name',
    attempt: thief('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-c' } }),
    refused: /its own Node/,
  },
  {
    name: 'S25 says that another Node is not ready',
    attempt: thief('PATCH', '/api/v1/nodes/n-b/status', {
      status: { conditions: [{ type: 'Ready', status: 'False' }] },
    }),
    refused: /its own Node/,
  },
  {
    name: 'S25 reads Secrets',
    attempt: thief('GET', `/api/v1/namespaces/${SYSTEM_NAMESPACE}/secrets`),
    refused: 403,
  },
  {
    name: 'S25 mints a token of the Defender',
    attempt: thief('POST', `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    }),
    refused: 403,
  },
  {
    name: 'S25 approves a permit for itself',
    attempt: thief('POST', `${OURS}/operationpermits`, { kind: 'OperationPermit' }),
    refused: 403,
  },
  {
    name: 'S26 with the key of a deleted Machine writes the status of the new one of its name',
    attempt: ({ ask, who }) => ask(deleted(who.agentA), 'PATCH', `${OURS}/machines/m-a/status`, version('9.9.9')),
    control: ({ ask, who }) => ask(who.agentA, 'PATCH', `${OURS}/machines/m-a/status`, version('1.0.0')),
    refused: /an earlier Machine of this name|its own Machine/,
  },
  {
    name: 'S26 with the key of a deleted Machine keeps the new one alive',
    attempt: async ({ ask, who }) => {
      const mine = lease(agentLeaseName('m-a'), uidOf(who.agentA))
      await ask(who.agentA, 'POST', LEASES, { body: mine })
      return ask(deleted(who.agentA), 'PATCH', `${LEASES}/${agentLeaseName('m-a')}`, {
        body: { spec: { holderIdentity: 'thief' } },
      })
    },
    control: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', `${LEASES}/${agentLeaseName('m-a')}`, { body: { spec: { holderIdentity: 'm-a' } } }),
    refused: /belongs to another Machine|its own Leases/,
  },
  {
    name: 'S26 marks a Lease with the uid of another Machine',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'POST', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`, {
        body: lease('n-a', uidOf(who.agentB)),
      }),
    control: ({ ask, who }) =>
      ask(who.agentA, 'POST', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`, {
        body: lease('n-a', uidOf(who.agentA)),
      }),
    refused: /belongs to another Machine/,
  },
  {
    name: 'S26 with the key of a deleted Machine says that the Node of the new one is broken',
    attempt: async ({ ask, who, admin }) => {
      const marked = { metadata: { annotations: { [ANNOTATIONS.machineUid]: uidOf(who.agentA) } } }
      await admin.raw({
        method: 'PATCH',
        path: '/api/v1/nodes/n-a',
        body: marked,
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      return ask(deleted(who.agentA), 'PATCH', '/api/v1/nodes/n-a/status', { body: broken })
    },
    control: ({ ask, who }) => ask(who.agentA, 'PATCH', '/api/v1/nodes/n-a/status', { body: broken }),
    refused: /belongs to another Machine|its own Node/,
  },
  {
    name: 'S26 readmits itself',
    attempt: thief('PATCH', `${OURS}/machines/m-a`, { metadata: { annotations: { [ANNOTATIONS.readmit]: '{}' } } }),
    refused: 403,
  },
  {
    name: 'S26 takes the revocation of its key back',
    attempt: thief('PATCH', `${OURS}/machines/m-a`, { metadata: { annotations: { [ANNOTATIONS.revoked]: null } } }),
    refused: 403,
  },
  {
    name: 'S25 impersonates the administrator',
    attempt: ({ ask, who: { agentA } }) =>
      ask(agentA, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { verb: 'impersonate', group: '', resource: 'users', name: 'admin' } },
        },
      }),
    refused: /"allowed":false/,
  },
  {
    // further refusals of an embedded server are tested in test/contract/apiserver-floods.test.ts
    name: 'S24 fills the status of its Machine with a megabyte of text',
    attempt: thief('PATCH', `${OURS}/machines/m-a/status`, { status: { bootID: 'x'.repeat(1_000_000) } }),
    control: thief('PATCH', `${OURS}/machines/m-a/status`, { status: { bootID: 'x' } }),
    refused: /^(413|422) /,
  },
  {
    name: 'S24 fills the status of its Machine with a thousand files',
    attempt: thief('PATCH', `${OURS}/machines/m-a/status`, {
      status: { foreignFiles: Array.from({ length: 1_000 }, (_, i) => `/etc/file-${i}`) },
    }),
    refused: /^422 .*foreignFiles/,
  },
  {
    name: 'S24 lets its Node grow by ever more of what a schema does not bound',
    attempt: ({ ask, who }) =>
      ask(who.agentA, 'PATCH', '/api/v1/nodes/n-a/status', {
        body: {
          status: { capacity: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`example.org/r${i}`, '1'])) },
        },
      }),
    control: thief('PATCH', '/api/v1/nodes/n-a/status', { status: { capacity: { 'example.org/r': '1' } } }),
    refused: /an agent reports at most/,
  },
]

const OF_CERTIFICATES: readonly Attempt[] = [
  {
    name: 'S26 with a certificate that names no uid writes the status of its Machine',
    attempt: ({ ask, who }) => ask(withoutUid(who.agentA), 'PATCH', `${OURS}/machines/m-a/status`, version('9.9.9')),
    refused: /names no uid of its Machine/,
  },
  {
    name: 'S26 with a revoked key writes the status of its Machine',
    attempt: reports((a) => withKey(a, '1'), ['1']),
    control: reports((a) => withKey(a, '2'), ['2']),
    afterwards: unrevoked,
    refused: /the key of this agent was revoked/,
  },
  {
    name: 'S26 with a revoked key writes the status after its host joined again',
    attempt: reports((a) => withKey(a, '1'), ['3', '2']),
    // The answer with key 3 may be under way still.
    control: reports((a) => withKey(a, '2'), ['3', '2']),
    afterwards: unrevoked,
    refused: /the key of this agent was revoked/,
  },
  {
    name: 'S26 with a key that it renewed before the revocation writes the status',
    attempt: reports((a) => withKey(a, '4'), ['2']),
    afterwards: unrevoked,
    refused: /the key of this agent was revoked/,
  },
  {
    name: 'S26 with a certificate that does not name its key writes the status of a revoked Machine',
    attempt: reports((a) => a, ['2']),
    afterwards: unrevoked,
    refused: /the key of this agent was revoked/,
  },
  ...Object.entries({
    'a text of its own': { annotations: { note: 'x'.repeat(10_000) } },
    'a machine of a name that none has': { annotations: { [ANNOTATIONS.machine]: 'x'.repeat(10_000) } },
    'the mark of the door': { labels: { [LABELS.door]: 'true' } },
    'a finalizer that keeps it for ever': { finalizers: ['example.org/never'] },
  }).map(([what, metadata], n): Attempt => ({
    name: `S24 makes certificate requests with ${what}`,
    attempt: requests(`odd-${n}`, metadata),
    control: requests(`even-${n}`, { annotations: { [ANNOTATIONS.machine]: 'm-a' } }),
    refused: /a certificate request of an agent has at most|sets no ownerReferences and no finalizers/,
  })),
  {
    name: 'S24 makes certificate requests that are mostly empty',
    attempt: requests('long', {}, 20_000),
    refused: /a certificate request of an agent has at most/,
  },
]

const BOTH = [...ATTEMPTS, ...OF_EVENTS]
tryOnServers('the key of an agent', [...BOTH, ...OF_CERTIFICATES])
tryOnServers('the token of an agent', BOTH, 'serviceAccount')
