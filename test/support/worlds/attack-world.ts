// A cluster as it is installed, with an identity for each program, agent and tenant, and the one test that tries a list of attempts on it.
// On the embedded server always; on a real kube-apiserver where KUBEBUILDER_ASSETS or TEST_ASSET_* name its binaries (otherwise api-servers.ts prints the reason).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import {
  AGENT_ACCOUNTS_GROUP,
  ACCEPTANCE_NAMESPACE,
  AGENTS_GROUP,
  AGENTS_NAMESPACE,
  agentAccountUser,
  agentNodeGroup,
  agentUser,
  BOOTSTRAP_GROUP,
  machineUidGroup,
  PROBES_NAMESPACE,
  programAccount,
  programUser,
} from '#api/names.ts'
import { accountObjects } from '#controllers/approver/accounts/account-objects.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { defined } from '#lib/defined.ts'

/** What an attempt was answered: the status of the last request, and its text. */
export interface Answer {
  readonly status: number
  readonly text: string
}

export interface Who {
  readonly user: string
  readonly groups: readonly string[]
}

export interface AskOptions {
  readonly body?: unknown
  /** Of the body; a PATCH is a merge patch without it. */
  readonly type?: string
}

export interface AttackWorld {
  readonly server: RunningServer
  /** In system:masters: prepares what an attempt needs. */
  readonly admin: HttpKubeClient
  readonly who: Identities
  /** One request as the identity whose key was stolen. */
  readonly ask: (who: Who, method: string, path: string, options?: AskOptions) => Promise<Answer>
}

export interface Attempt<World = AttackWorld> {
  /** What is tried, in words; begins with the row of FAULTS.md where there is one. */
  readonly name: string
  readonly attempt: (world: World) => Promise<Answer>
  /** The status, or what `<status> <text>` of the answer says. */
  readonly refused: number | RegExp
  /** The same by an identity that may: shows that the attempt fails because of who asks, not because it is wrong. */
  readonly control?: (world: World) => Promise<Answer>
  /** What must hold afterwards, such as an object that is still there. Throws when it does not. */
  readonly afterwards?: (world: World) => Promise<void>
}

const AUTHENTICATED = 'system:authenticated'
const person = (user: string, ...groups: readonly string[]): Who => ({ user, groups: [...groups, AUTHENTICATED] })
const program = (name: string): Who => person(programUser(name))

/** A program as a pod runs it. */
export const accountOfProgram = (name: string): Who =>
  person(programAccount(name), 'system:serviceaccounts', 'system:serviceaccounts:kubenode-system')

const agent = ({ metadata: { name = '', uid = '' } }: Machine, node: string): Who =>
  person(agentUser(name), AGENTS_GROUP, agentNodeGroup(node), `kubenode:machine-uid:${uid}`)

/** The other form: a service account, whose Role says which Machine and Node it is. */
export const accountOfAgent = (uid: string): Who =>
  person(agentAccountUser(uid), 'system:serviceaccounts', AGENT_ACCOUNTS_GROUP)

/** Of an agent in either form. */
export function machineUidOf({ user, groups }: Who): string {
  const prefix = agentAccountUser('')
  if (user.startsWith(prefix)) return user.slice(prefix.length)
  return groups.find((g) => g.startsWith(UID_GROUP))?.slice(UID_GROUP.length) ?? ''
}
const UID_GROUP = machineUidGroup('')

export interface Identities {
  readonly sync: Who
  readonly controllers: Who
  readonly defender: Who
  readonly approver: Who
  /** Of Machine m-a, whose Node is n-a. */
  readonly agentA: Who
  readonly agentB: Who
  /** A host that has a join token and nothing else. */
  readonly joining: Who
  /** May do everything in namespace shop, and nothing elsewhere. */
  readonly tenant: Who
  /** May read only what every authenticated user may read. */
  readonly anybody: Who
  readonly anonymous: Who
  /** In system:masters. */
  readonly installer: Who
}

const jsonOf = (text: string): unknown => JSON.parse(text) as unknown

async function startWorld(
  start: () => Promise<RunningServer>,
  form: AgentIdentity,
): Promise<AttackWorld & { stop(): Promise<void> }> {
  const server = await start()
  const connection = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  const admin = new HttpKubeClient(connection)
  const clients = new Map<string, HttpKubeClient>()
  const clientOf = (who: Who): HttpKubeClient => {
    const id = JSON.stringify(who)
    const known = clients.get(id) ?? new HttpKubeClient({ ...connection, impersonate: who })
    clients.set(id, known)
    return known
  }
  const ask: AttackWorld['ask'] = async (who, method, path, { body, type } = {}) => {
    const mediaType = type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
    const headers = body === undefined ? {} : { 'content-type': mediaType }
    const { status, text } = await clientOf(who).raw({ method, path, headers, ...defined({ body }) })
    return { status, text }
  }
  const [a, b] = await Promise.all(['a', 'b'].map((x) => admin.create(machine, machineNamed(`m-${x}`))))
  if (a === undefined || b === undefined) throw new Error('no machines')
  const who: Identities = {
    sync: program('sync'),
    controllers: program('controllers'),
    defender: program('defender'),
    approver: program('approver'),
    agentA: form === 'certificate' ? agent(a, 'n-a') : accountOfAgent(a.metadata.uid ?? ''),
    agentB: form === 'certificate' ? agent(b, 'n-b') : accountOfAgent(b.metadata.uid ?? ''),
    joining: person('system:bootstrap:abcdef', 'system:bootstrappers', BOOTSTRAP_GROUP),
    tenant: person('tenant'),
    anybody: person('anybody'),
    anonymous: { user: 'system:anonymous', groups: ['system:unauthenticated'] },
    installer: MASTER,
  }
  const world: AttackWorld = { server, admin, who, ask }
  if (form === 'serviceAccount')
    for (const [m, node] of [
      [a, 'n-a'],
      [b, 'n-b'],
    ] as const)
      await giveAccount(world, m, node)
  await furnish(world)
  const stop = async () => {
    for (const client of [admin, ...clients.values()]) client.close()
    await server.stop()
  }
  return { ...world, stop }
}

/** As the approver does it, with its rights. */
async function giveAccount({ ask, who }: AttackWorld, machineOfIt: Machine, node: string): Promise<void> {
  const onNode = { ...machineOfIt, status: { nodeRef: { name: node } } } as Machine
  for (const object of accountObjects(onNode)) {
    const path = object.kind === 'ServiceAccount' ? '/api/v1' : RBAC
    const { status, text } = await ask(
      who.approver,
      'POST',
      `${path}/namespaces/${AGENTS_NAMESPACE}/${object.kind.toLowerCase()}s`,
      { body: object },
    )
    expect([status, status < 300 ? '' : text]).toEqual([201, ''])
  }
}

const machineNamed = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: machine.kind,
  metadata: { name },
  spec: { ...machine.example.spec, components: [] } as Machine['spec'],
})

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const RBAC_GROUP = 'rbac.authorization.k8s.io'
const MASTER: Who = { user: 'installer', groups: ['system:masters', AUTHENTICATED] }

/** The namespace of a tenant, an account in it, and the agents' Nodes. Waits until policies are in force, which takes a real server a moment. */
async function furnish(world: AttackWorld): Promise<void> {
  const make = async (path: string, body: object) => {
    const { status, text } = await world.ask(MASTER, 'POST', path, { body })
    expect([status, status < 300 ? '' : text]).toEqual([201, ''])
  }
  await make('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await make('/api/v1/namespaces/shop/serviceaccounts', serviceAccount('till'))
  // A controller manager makes it; without it a server refuses every pod of the namespace before it asks a policy.
  for (const namespace of ['shop', PROBES_NAMESPACE, ACCEPTANCE_NAMESPACE])
    await world.ask(MASTER, 'POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      body: serviceAccount('default'),
    })
  for (const name of ['n-a', 'n-b']) await make('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  const metadata = { name: 'tenant', namespace: 'shop' }
  const roleRef = { apiGroup: RBAC_GROUP, kind: 'Role', name: 'tenant' }
  const apiVersion = `${RBAC_GROUP}/v1`
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  await make(`${RBAC}/namespaces/shop/roles`, { apiVersion, kind: 'Role', metadata, rules: everything })
  const subjects = [{ kind: 'User', name: world.who.tenant.user, apiGroup: RBAC_GROUP }]
  await make(`${RBAC}/namespaces/shop/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects })
  await untilPoliciesHold(world, make)
}

/** A real server takes up policies in the order in which they were made: when the newest refuses, all do. */
async function untilPoliciesHold(
  world: AttackWorld,
  make: (path: string, body: object) => Promise<void>,
): Promise<void> {
  const name = 'newest-policy'
  const admission = '/apis/admissionregistration.k8s.io/v1'
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
  const expression = `object.metadata.name != '${name}'`
  await make(`${admission}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: { resourceRules }, validations: [{ expression }] },
  })
  await make(`${admission}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  })
  await eventually(
    () => world.ask(MASTER, 'POST', '/api/v1/namespaces/shop/configmaps?dryRun=All', { body: configMap(name) }),
    ({ status }) => status === 422,
  )
}

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
const serviceAccount = (name: string) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })

/** The part of a Status that people read; the whole text of anything else. */
function saidIn({ text }: Answer): string {
  try {
    const { message } = jsonOf(text) as { readonly message?: unknown }
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}

async function tryOne<World>({ attempt, refused, control, afterwards }: Attempt<World>, world: World): Promise<void> {
  const answer = await attempt(world)
  const said = `${answer.status} ${saidIn(answer)}`
  expect(said).toMatch(typeof refused === 'number' ? new RegExp(`^${refused} `) : refused)
  if (control !== undefined) {
    const allowed = await control(world)
    expect(`${allowed.status} ${saidIn(allowed)}`).toMatch(/^2\d\d /)
  }
  await afterwards?.(world)
}

/** Tries each attempt on each server there is. */
export function tryOnServers(
  attacker: string,
  attempts: readonly Attempt[],
  form: AgentIdentity = 'certificate',
): void {
  // A member: what a thief can do on the hub besides is in the table of docs/operations/security.md.
  describe.each(apiServers)(`${attacker} on $name`, ({ startMember }) => {
    let world: Awaited<ReturnType<typeof startWorld>>
    beforeAll(async () => void (world = await startWorld(startMember, form)))
    afterAll(() => world?.stop())
    test.each(attempts)('$name', (attempt) => tryOne(attempt, world))
  })
}

/** Of attempts that no API server takes part in; `status` is 0 where there is none. */
export function tryHere(attacker: string, attempts: readonly Attempt<void>[]): void {
  describe(attacker, () => {
    test.each(attempts)('$name', (attempt) => tryOne(attempt, undefined))
  })
}
