// Logs of components: an agent neither finds nor answers requests for others, who may read Machines does not read logs, and no program asks for them.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { newSealingKey } from '#api/sealed.ts'
import { sealedPage, ticketFor } from '#api/protocol/log-requests.ts'
import { ANNOTATIONS, LOGS_READER } from '#api/names.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  type Who,
  accountOfProgram,
  machineUidOf,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'
import { defined } from '#lib/defined.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const REQUESTS = `${OURS}/logrequests`
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const [agentKey, personKey] = [newSealingKey(), newSealingKey()]
const nameOf = (machine: string): string => machine.replace('m-', '').repeat(32)

interface Wanted {
  readonly machine?: string
  readonly by?: string
  readonly [field: string]: unknown
}

const request = ({ who }: AttackWorld, name: string, { machine = 'm-b', by = 'installer', ...more }: Wanted = {}) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'LogRequest',
  metadata: { name },
  spec: {
    machine,
    machineUid: machineUidOf(machine === 'm-a' ? who.agentA : who.agentB),
    component: 'beacon',
    replyKey: personKey.publicKey,
    ticket: ticketFor(agentKey.publicKey, machine, name),
    by,
    ...more,
  },
})

/** An open request that the installer made, carried by its Machine as the controllers do it. */
async function open(world: AttackWorld, machine: string): Promise<string> {
  const { ask, who } = world
  const name = nameOf(machine)
  const body = request(world, name, { machine })
  await ask(who.installer, 'POST', REQUESTS, { body })
  const made = await ask(who.installer, 'GET', `${REQUESTS}/${name}`)
  if (made.status !== 200) throw new Error(`no request: ${made.text}`)
  await ask(who.controllers, 'PATCH', `${OURS}/machines/${machine}`, { body: { spec: { logs: [body.spec.ticket] } } })
  return `${REQUESTS}/${name}`
}

const page = {
  status: { phase: 'Done', page: 1, sealed: sealedPage(personKey.publicKey, 'm-b', nameOf('m-b'), 1, 'x') },
}
const answers =
  (as: (who: AttackWorld['who']) => Who, machine: string, body: object = page): Attempt['attempt'] =>
  async (world) =>
    world.ask(as(world.who), 'PATCH', `${await open(world, machine)}/status`, { body })
const asks =
  (as: (who: AttackWorld['who']) => Who, wanted: Wanted = {}): Attempt['attempt'] =>
  (world) => {
    const who = as(world.who)
    const body = request(world, 'e'.repeat(32), { by: who.user, ...wanted })
    return world.ask(who, 'POST', `${REQUESTS}?dryRun=All`, { body })
  }

/** People with roles of their own, made once. */
const ada: Who = { user: 'ada', groups: ['system:authenticated'] }
const eve: Who = { user: 'eve', groups: ['system:authenticated'] }
const rule = (resources: readonly string[], verbs: readonly string[], resourceNames?: readonly string[]) => ({
  apiGroups: ['kubenode.io'],
  resources,
  verbs,
  ...defined({ resourceNames }),
})
async function give({ ask, who }: AttackWorld, person: Who, role: string, rules?: readonly object[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const make = (resource: string, body: object): Promise<Answer> =>
    ask(who.installer, 'POST', `${RBAC}/${resource}`, { body })
  if (rules !== undefined)
    await make('clusterroles', { apiVersion, kind: 'ClusterRole', metadata: { name: role }, rules })
  await make('clusterrolebindings', {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${role}-${person.user}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name: person.user, apiGroup: 'rbac.authorization.k8s.io' }],
  })
}

/** Until the server has taken up the role, which takes a real one a moment. */
async function whenTaken(world: AttackWorld, person: Who, path: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { status } = await world.ask(person, 'GET', path)
    if (status !== 403) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${person.user} got no right to ${path}`)
}

const OF_PEOPLE: readonly Attempt[] = [
  {
    name: 'who may read Machines asks for a log',
    attempt: async (world) => {
      await give(world, eve, 'reads-machines', [rule(['machines'], ['get', 'list', 'watch'])])
      await whenTaken(world, eve, `${OURS}/machines`)
      return asks(() => eve)(world)
    },
    control: async (world) => {
      await give(world, ada, LOGS_READER)
      await whenTaken(world, ada, `${OURS}/machines/m-b`)
      return asks(() => ada)(world)
    },
    refused: 403,
  },
  {
    name: 'who may read the logs of one machine asks for those of another',
    attempt: async (world) => {
      await give(world, eve, 'logs-of-m-a', [
        rule(['logrequests'], ['create', 'get', 'watch', 'delete']),
        rule(['machines/log'], ['get'], ['m-a']),
      ])
      await whenTaken(world, eve, `${REQUESTS}/none`)
      return asks(() => eve)(world)
    },
    control: asks(() => eve, { machine: 'm-a' }),
    refused: /needs the right to get machines\/log/,
  },
  {
    name: 'who may read logs asks in the name of another user',
    attempt: asks(() => ada, { by: 'grace' }),
    refused: /spec\.by must be the user that asks/,
  },
  {
    name: 'who may read logs writes an answer',
    attempt: answers(() => ada, 'm-b'),
    refused: 403,
  },
  ...Object.entries({
    'a path in place of a component': { component: '../../etc/shadow' },
    'a unit in place of a component': { component: 'ssh.service' },
    'an option in place of a component': { component: '--directory=/' },
    'a key that is none': { replyKey: 'AAAA' },
    'a ticket of 10,000 characters': { ticket: 'v1.x'.repeat(2_500) },
    'more lines than there can be': { tail: 1_000_000_000 },
  }).map(([what, wanted]): Attempt => ({
    name: `who may read logs asks with ${what}`,
    attempt: asks(() => ada, wanted),
    refused: 422,
  })),
  {
    name: 'who may read logs turns an open request to another machine',
    attempt: async (world) => {
      const path = await open(world, 'm-b')
      return world.ask(world.who.installer, 'PATCH', path, { body: { spec: { machine: 'm-a' } } })
    },
    refused: /a LogRequest is immutable/,
  },
]

const OF_PROGRAMS: readonly Attempt[] = (['controllers', 'sync', 'defender', 'approver'] as const).flatMap(
  (program): readonly Attempt[] => [
    { name: `the key of ${program} asks for a log`, attempt: asks((who) => who[program]), refused: 403 },
    { name: `the account of ${program} asks for a log`, attempt: asks(() => accountOfProgram(program)), refused: 403 },
    { name: `the key of ${program} answers`, attempt: answers((who) => who[program], 'm-b'), refused: 403 },
  ],
)

const OF_AGENTS: readonly Attempt[] = [
  {
    name: 'S25 writes into the answer of another machine',
    attempt: answers((who) => who.agentA, 'm-b'),
    control: answers((who) => who.agentB, 'm-b'),
    refused: /its own Machine, jobs and log requests|^403/,
  },
  {
    name: 'S26 with the key of a deleted Machine answers for the new one of its name',
    attempt: async (world) => {
      const { ask, who } = world
      const name = 'd'.repeat(32)
      await ask(who.installer, 'POST', REQUESTS, { body: request(world, name, { machineUid: 'of-another-machine' }) })
      return ask(who.agentB, 'PATCH', `${REQUESTS}/${name}/status`, { body: page })
    },
    refused: /the request is for another Machine/,
  },
  ...[REQUESTS, `${REQUESTS}?watch=true`].map((path): Attempt => ({
    name: `S25 lists ${path}`,
    attempt: ({ ask, who }) => ask(who.agentA, 'GET', path),
    refused: 403,
  })),
  {
    name: 'S25 finds the name of a request for another machine in that Machine',
    attempt: async (world) => {
      await open(world, 'm-b')
      const { status, text } = await world.ask(world.who.agentA, 'GET', `${OURS}/machines/m-b`)
      if (!text.includes('"logs":["v1.')) throw new Error(`the Machine carries no request: ${text}`)
      return { status: text.includes(nameOf('m-b')) ? status : 404, text: '' }
    },
    refused: 404,
  },
  {
    name: 'S25 asks for the log of another machine',
    attempt: asks((who) => who.agentA),
    refused: 403,
  },
  {
    name: 'S25 turns a request to itself',
    attempt: async (world) =>
      world.ask(world.who.agentA, 'PATCH', await open(world, 'm-b'), { body: { spec: { machine: 'm-a' } } }),
    refused: 403,
  },
  {
    name: 'S25 marks the answer of its machine for another program',
    attempt: answers((who) => who.agentB, 'm-b', { ...page, metadata: { annotations: { [ANNOTATIONS.commit]: 'x' } } }),
    refused: /changes no labels and no annotations|^200 /,
    afterwards: async ({ ask, who }) => {
      const { text } = await ask(who.installer, 'GET', `${REQUESTS}/${nameOf('m-b')}`)
      if (text.includes(ANNOTATIONS.commit)) throw new Error('an agent annotated a request')
    },
  },
  {
    name: 'S24 answers with a page of a megabyte',
    attempt: answers((who) => who.agentB, 'm-b', {
      status: { phase: 'Answering', page: 1, sealed: 'x'.repeat(2 ** 20) },
    }),
    refused: /^(413|422) /,
  },
]

tryOnServers('logs: the key of an agent, a program or a person', [...OF_AGENTS, ...OF_PROGRAMS, ...OF_PEOPLE])
tryOnServers('logs: the token of an agent', OF_AGENTS, 'serviceAccount')
