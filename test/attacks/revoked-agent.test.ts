// The attacker has the key of an agent that was revoked, on a server that knows no revocation of certificates: nothing is written with it until it expires.
import { agentKeyGroup, agentLeaseName, ANNOTATIONS, REVOKED_AGENTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { shortKey } from '#identity/agent-key.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`
const NODE_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const LISTS = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps`
const LIST = `${LISTS}/${REVOKED_AGENTS}`
const UNTIL = '2999-01-01T00:00:00Z'
const UID_GROUP = 'kubenode:machine-uid:'

const keyOf = (digit: string): string => digit.repeat(64)
const uidOf = ({ groups }: Who): string => groups.find((g) => g.startsWith(UID_GROUP))?.slice(UID_GROUP.length) ?? ''
const withKey = (who: Who, ...digits: readonly string[]): Who => ({
  ...who,
  groups: [...who.groups, ...digits.map((d) => agentKeyGroup(keyOf(d)))],
})

const configMap = (data: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: REVOKED_AGENTS },
  data,
})
/** What the approver lists: machine m-a was revoked, and key 2 was recorded after it. */
async function listed(world: AttackWorld): Promise<void> {
  const { status, text } = await world.ask(world.who.approver, 'PUT', LIST, {
    body: configMap({ [uidOf(world.who.agentA)]: `${UNTIL} ${shortKey(keyOf('2'))}` }),
  })
  if (status !== 200) throw new Error(`the approver cannot list: ${text}`)
}
type As = (who: Who) => Who
type Write = (world: AttackWorld, as: As) => Promise<Answer>
const writes =
  (method: string, path: string, body: (uid: string) => object): Write =>
  ({ ask, who }, as) =>
    ask(as(who.agentA), method, `${path}?dryRun=All`, { body: body(uidOf(who.agentA)) })

const lease = (name: string) => (uid: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, annotations: { [ANNOTATIONS.machineUid]: uid } },
  spec: { holderIdentity: 'thief' },
})
const WRITES: Readonly<Record<string, Write>> = {
  'says that it is alive': writes('POST', LEASES, lease(agentLeaseName('m-a'))),
  'says that its Node is alive': writes('POST', NODE_LEASES, lease('n-a')),
  'reports a condition of its Node': writes('PATCH', '/api/v1/nodes/n-a/status', () => ({
    status: { conditions: [{ type: 'KernelDeadlock', status: 'True' }] },
  })),
  'reports the state of its Machine': writes('PATCH', `${OURS}/machines/m-a/status`, () => ({
    status: { agent: { version: '9.9.9' } },
  })),
}

const REVOKED = /the key of this agent was revoked/
const THIEVES: Readonly<Record<string, As>> = {
  'the revoked key': (who) => withKey(who, '1'),
  'a certificate that names no key': (who) => who,
  'a certificate that names two keys': (who) => withKey(who, '1', '2'),
  'a certificate that names a part of the new key': (who) => ({
    ...who,
    groups: [...who.groups, `${agentKeyGroup('')}2222`],
  }),
  'a certificate that names two Machines': (who) => withKey({ ...who, groups: [...who.groups, `${UID_GROUP}x`] }, '2'),
}

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S26 a lost list takes no agent down',
    // The attempt is another attack, which the other policies still refuse.
    attempt: async (world) => {
      await world.admin.raw({ method: 'DELETE', path: LIST })
      return world.ask(world.who.agentB, 'POST', `${LEASES}?dryRun=All`, { body: lease(agentLeaseName('m-a'))('x') })
    },
    control: async (world) => (WRITES['says that it is alive'] as Write)(world, (who) => withKey(who, '1')),
    refused: 403,
    afterwards: async ({ admin }) => {
      await admin.raw({ method: 'POST', path: LISTS, body: configMap({}) })
    },
  },
  ...Object.entries(WRITES).map(([what, write]): Attempt => ({
    name: `S26 the revoked key ${what}`,
    attempt: async (world) => {
      await listed(world)
      return write(world, (who) => withKey(who, '1'))
    },
    control: (world) => write(world, (who) => withKey(who, '2')),
    refused: REVOKED,
  })),
  ...Object.entries(THIEVES).map(([who, as]): Attempt => ({
    name: `S26 ${who} says that it is alive`,
    attempt: async (world) => {
      await listed(world)
      return (WRITES['says that it is alive'] as Write)(world, as)
    },
    control: ({ ask, who: { agentB } }) =>
      ask(agentB, 'POST', `${LEASES}?dryRun=All`, { body: lease(agentLeaseName('m-b'))(uidOf(agentB)) }),
    refused: /the key of this agent was revoked|names no uid of its Machine/,
  })),
  ...(['controllers', 'sync', 'defender', 'agentB'] as const).map((thief): Attempt => ({
    name: `S26 the key of ${thief} has every agent refused, or a revoked one accepted`,
    attempt: ({ ask, who }) => ask(who[thief], 'PUT', LIST, { body: configMap({}) }),
    control: ({ ask, who }) => ask(who.approver, 'PUT', `${LIST}?dryRun=All`, { body: configMap({}) }),
    refused: 403,
  })),
  {
    name: 'S26 the key of controllers deletes the list of revoked agents',
    attempt: ({ ask, who }) => ask(who.controllers, 'DELETE', LIST),
    refused: /only the approver writes/,
  },
  {
    name: 'S26 the key of controllers makes a list of its own where an administrator deleted it',
    attempt: async ({ admin, ask, who }) => {
      await admin.raw({ method: 'DELETE', path: LIST })
      return ask(who.controllers, 'POST', LISTS, { body: configMap({ [uidOf(who.agentB)]: UNTIL }) })
    },
    // What the controllers make again is empty, and the approver fills it in.
    control: ({ ask, who }) => ask(who.controllers, 'POST', LISTS, { body: configMap({}) }),
    refused: /only the approver writes/,
  },
  {
    name: 'S25 the key of the approver writes another ConfigMap',
    attempt: ({ ask, who }) =>
      ask(who.approver, 'POST', LISTS, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } } }),
    refused: 403,
  },
]

tryOnServers('the key of a revoked agent', ATTEMPTS)
