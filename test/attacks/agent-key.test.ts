// The attacker has the key of one agent: other machines, their Nodes, heartbeats, certificates and secrets stay out of reach.
import { ANNOTATIONS, SYSTEM_NAMESPACE, agentKeyGroup, agentLeaseName, machineUidGroup } from '#api/names.ts'
import { type Attempt, type AttackWorld, type Who, tryOnServers } from '#test/support/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`
const lease = (name: string, machineUid = '') => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, annotations: { [ANNOTATIONS.machineUid]: machineUid } },
  spec: { holderIdentity: 'thief' },
})
const phase = (value: string) => ({ body: { status: { phase: value } } })

const UID = machineUidGroup('')
const uidOf = ({ groups }: Who): string => groups.find((g) => g.startsWith(UID))?.slice(UID.length) ?? ''
/** The key of a Machine of the same name that was deleted: everything as it was, but the uid. */
const deleted = (who: Who): Who => ({
  ...who,
  groups: who.groups.map((g) => (g.startsWith(UID) ? machineUidGroup('00000000-0000-0000-0000-00000000dead') : g)),
})
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
    refused: /its own Leases/,
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
    refused: /an earlier Machine of this name/,
  },
  {
    name: 'S26 with a certificate that names no uid writes the status of its Machine',
    attempt: ({ ask, who }) => ask(withoutUid(who.agentA), 'PATCH', `${OURS}/machines/m-a/status`, version('9.9.9')),
    refused: /names no uid of its Machine/,
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
    refused: /belongs to another Machine/,
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
    refused: /belongs to another Machine/,
  },
  {
    name: 'S26 readmits itself',
    attempt: thief('PATCH', `${OURS}/machines/m-a`, { metadata: { annotations: { [ANNOTATIONS.readmit]: '{}' } } }),
    refused: 403,
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
    // what an embedded server refuses beyond it is tried in test/contract/apiserver-floods.test.ts
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

tryOnServers('the key of an agent', ATTEMPTS)
