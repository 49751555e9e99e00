// The Defender's webhook against the embedded server with the rights that it is shipped with: what no CRD can say is refused at apply
// with our numbered problems, and a Defender that is down blocks no write.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import { API_GROUP_VERSION, type ApiKind } from '#api/kind.ts'
import { approval, type Approval } from '#api/kinds/approval.ts'
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import {
  AGENT_SIGNER,
  AGENT_REPORTER,
  AGENTS_GROUP,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  machineUidGroup,
  AGENTS_NAMESPACE,
  CLUSTERS_NAMESPACE,
  SYSTEM_NAMESPACE,
  WEBHOOK_NAMESPACE,
  WEBHOOK_SECRET,
} from '#api/names.ts'
import { agentEvents } from '#agent/agent-events.ts'
import { createCaches } from '#defender/caches.ts'
import { DefenderTime } from '#defender/defender-time.ts'
import { createGuard } from '#defender/guard/guard.ts'
import { newCertificate } from '#defender/webhook/certificate.ts'
import { WebhookRegistrar } from '#defender/webhook/registrar.ts'
import { WebhookReplica } from '#defender/webhook/replica.ts'
import { webhookConfigurationType } from '#defender/webhook/registration.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { policiesIn, POLICY_TYPES } from '#kube/admission-policies.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { PolicyKeeper } from '#defender/policy-keeper.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { definitions } from '#programs/local/install.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { createInformers } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

let server: RunningServer
let admin: KubeClient
let part: WebhookRegistrar
let replica: WebhookReplica
let stopInformers: () => Promise<void> = async () => undefined
let served = 0

const connection = () => ({
  server: server.url,
  ca: { data: server.ca },
  clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
})
const EVENTS: ResourceType = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}
const SECRETS: ResourceType = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }
const secretKey = { namespace: WEBHOOK_NAMESPACE, name: WEBHOOK_SECRET }

async function startWebhook(): Promise<void> {
  const client = asUser('kubenode:defender')
  const where = { listen: '127.0.0.1', port: 0, at: { host: '127.0.0.1' } }
  const informers = createInformers({ client, clock: systemClock, random: systemRandom, log: silentLogger })
  const caches = createCaches(informers, { withClusters: false })
  informers.start()
  await informers.synced()
  stopInformers = () => informers.stop()
  const guard = createGuard({
    client,
    caches,
    clock: systemClock,
    random: systemRandom,
    time: new DefenderTime(systemClock),
    identity: 'test',
  })
  const own = { ...where, client, clock: systemClock, log: silentLogger }
  const findMachine = (name: string) => caches.machines.get({ name })
  replica = new WebhookReplica({ ...own, findComponent: () => undefined, findMachine, guard })
  const events = createEventRecorder({ ...own, controller: 'kubenode.io/defender', instance: 'test' })
  part = new WebhookRegistrar({ ...own, events, replica })
  await replica.start()
  await part.start()
}

async function stopWebhook(): Promise<void> {
  await part.stop()
  await replica.stop()
  await stopInformers()
}

/** The example of the kind under a new name, with another spec. */
function changed(kind: ApiKind, spec: Readonly<Record<string, unknown>>): KubeObject {
  const { metadata, ...rest } = kind.example as unknown as KubeObject
  const before = isObject(rest['spec']) ? rest['spec'] : {}
  const name = kind === machineComponent ? metadata.name : `${kind.kind.toLowerCase()}-${++served}`
  return {
    ...rest,
    metadata: { ...metadata, ...defined({ name }) },
    spec: { ...before, ...spec },
  }
}

const apply = (kind: ApiKind, object: KubeObject) =>
  admin.apply(kind, object, { fieldManager: 'somebody', force: true })

async function said(act: Promise<unknown>): Promise<string> {
  try {
    await act
  } catch (e) {
    if (e instanceof ApiError) return `${e.status} ${e.serverMessage}`
    throw e
  }
  return 'accepted'
}

const registered = async (): Promise<{ readonly url: string; readonly ca: string }> => {
  const configuration = await admin.get(webhookConfigurationType, { name: API_GROUP })
  const [hook] = (configuration?.['webhooks'] ?? []) as readonly {
    readonly clientConfig: { readonly url: string; readonly caBundle: string }
  }[]
  if (hook === undefined) throw new Error('the webhook is not registered')
  return { url: hook.clientConfig.url, ca: Buffer.from(hook.clientConfig.caBundle, 'base64').toString() }
}

const BROKEN_RULE = { all: [{ fact: 'conditons', path: '/Ready/status', operator: 'equal', value: 'True' }] }
const BAD_CRON = { windows: [{ cron: '61 * * * *', duration: '1h' }] }

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient(connection())
  await installAll(admin)
  await startWebhook()
})
afterAll(async () => {
  await stopWebhook()
  await server.stop()
})
beforeEach(async () => {
  expect((await registered()).url).toMatch(/^https:\/\/127\.0\.0\.1:[1-9]\d*\/[0-9a-f]{64}\/admit$/)
})

test.each<[string, ApiKind, Readonly<Record<string, unknown>>, RegExp]>([
  [
    'a rule about a condition that no program reports',
    nodeRemedier,
    { when: BROKEN_RULE },
    /KN4\d{3}: at \/spec\/when\/all\/0/,
  ],
  ['a window at minute 61', defenderPolicy, BAD_CRON, /KN5007: \/spec\/windows\/0\/cron: /],
  [
    'a range that is none',
    machineComponent,
    { requires: [{ component: 'runc', range: '>=banana' }] },
    /KN5007: \/spec\/requires\/0\/range: is not a version range/,
  ],
])('%s is refused at apply', async (_, kind, spec, problem) => {
  const text = await said(apply(kind, changed(kind, spec)))
  expect(text).toMatch(/^422 admission webhook "kinds\.kubenode\.io" denied the request: /)
  expect(text).toMatch(problem)
})

test('what is right is accepted, and a change that breaks it is refused', async () => {
  const good = changed(nodeRemedier, {})
  expect(await said(apply(nodeRemedier, good))).toBe('accepted')
  const broken = { ...good, spec: { ...(good['spec'] as object), when: BROKEN_RULE } }
  expect(await said(apply(nodeRemedier, broken))).toMatch(/^422 .*KN4\d{3}/s)
  expect(await said(admin.delete(nodeRemedier, { name: good.metadata.name ?? '' }))).toBe('accepted')
})

test('a Defender that is away lets everything pass that the schema allows', async () => {
  await stopWebhook()
  expect(await said(apply(defenderPolicy, changed(defenderPolicy, BAD_CRON)))).toBe('accepted')
  const shapeless = changed(defenderPolicy, { mode: 'Loud' })
  expect(await said(apply(defenderPolicy, shapeless))).toMatch(/^422 DefenderPolicy\.kubenode\.io/)
  await startWebhook()
  expect(await said(apply(defenderPolicy, changed(defenderPolicy, BAD_CRON)))).toMatch(/^422 .*KN5007/s)
})

test('a restart serves the same certificate on another port, and the registration follows', async () => {
  const before = await registered()
  await stopWebhook()
  await startWebhook()
  const after = await registered()
  expect(after.ca).toBe(before.ca)
  expect(await said(apply(defenderPolicy, changed(defenderPolicy, BAD_CRON)))).toMatch(/^422/)
})

test('a certificate that runs out gets a successor, which is trusted beside it without a restart', async () => {
  const before = await registered()
  const old = newCertificate('127.0.0.1', Date.now() - 300 * 86_400_000)
  const data = { 'current-ca.crt': old.ca, 'tls.crt': old.cert, 'tls.key': old.key }
  const encoded = Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))
  await admin.patch(SECRETS, secretKey, { type: 'merge', value: { data: encoded } as never })
  expect(await part.reload()).toBe(true)
  const after = await registered()
  expect(after.url).toBe(before.url)
  const [own = '', next = ''] = after.ca.split(/(?<=-----END CERTIFICATE-----\n)/)
  expect(own).toBe(old.ca)
  expect(new X509Certificate(next).validToDate.getTime()).toBeGreaterThan(Date.now() + 300 * 86_400_000)
  expect(await said(apply(defenderPolicy, changed(defenderPolicy, BAD_CRON)))).toMatch(/^422/)
})

const hookPolicies = async (): Promise<readonly unknown[]> => {
  const found = await admin.get(webhookConfigurationType, { name: API_GROUP })
  return ((found?.['webhooks'] ?? []) as readonly { readonly failurePolicy: string }[]).map((w) => w.failurePolicy)
}
const restoredEvents = async (): Promise<readonly string[]> =>
  (await admin.list(EVENTS)).items.filter((e) => e['reason'] === 'RegistrationRestored').map((e) => String(e['note']))

test('a registration that is deleted or edited comes back by itself, with an event', async () => {
  const before = await hookPolicies()
  await admin.delete(webhookConfigurationType, { name: API_GROUP })
  await eventually(hookPolicies, (now) => now.length === before.length)
  expect(await said(apply(defenderPolicy, changed(defenderPolicy, BAD_CRON)))).toMatch(/^422/)
  const found = await admin.get(webhookConfigurationType, { name: API_GROUP })
  if (found === undefined) throw new Error('the webhook is not registered')
  const webhooks = (found.webhooks ?? []).map((w) => ({ ...w, failurePolicy: 'Ignore' }))
  await admin.update(webhookConfigurationType, { ...found, webhooks })
  expect(await hookPolicies()).not.toEqual(before)
  const restored = await eventually(hookPolicies, (now) => now.includes('Fail'))
  expect(restored).toEqual(before)
  const notes = await eventually(restoredEvents, (all) => all.length === 2)
  expect(new Set(notes.map((n) => /was (deleted|edited)/.exec(n)?.[1]))).toEqual(new Set(['deleted', 'edited']))
})

test('a registration that is deleted while KubeNode is uninstalled stays away', async () => {
  const mark = (value: string | null) =>
    admin.patch(
      namespaces,
      { name: SYSTEM_NAMESPACE },
      { type: 'merge', value: { metadata: { annotations: { 'kubenode.io/uninstalling': value } } } as never },
    )
  await mark('true')
  await admin.delete(webhookConfigurationType, { name: API_GROUP })
  await part.check()
  expect(await part.reload()).toBe(true)
  expect(await hookPolicies()).toEqual([])
  await mark(null)
  await part.check()
  expect((await hookPolicies()).length).toBeGreaterThan(1)
})

const definitionOf = (group: string, plural: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  // A policy keeps ours without it; here it is about the webhook.
  metadata: {
    name: `${plural}.${group}`,
    labels: { of: 'test' },
    annotations: { [ANNOTATIONS.uninstalling]: 'true' },
  },
  spec: {
    group,
    scope: 'Cluster',
    names: { plural, singular: plural.slice(0, -1), kind: `K${plural}`, listKind: `K${plural}List` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
})

test('the registration is deleted together with the role of the Defender', async () => {
  const found = await admin.get(webhookConfigurationType, { name: API_GROUP })
  expect(found?.metadata.ownerReferences).toMatchObject([{ kind: 'ClusterRole', name: 'kubenode:defender' }])
})

test('definitions of others can be deleted while the Defender is away, ours cannot; also as a collection', async () => {
  for (const group of ['example.org', API_GROUP])
    for (const plural of ['widgets', 'gadgets']) await admin.create(definitions, definitionOf(group, plural))
  await stopWebhook()
  expect(await said(admin.delete(definitions, { name: 'widgets.example.org' }))).toBe('accepted')
  expect(await said(admin.delete(definitions, { name: 'widgets.kubenode.io' }))).toMatch(/failed calling webhook/)
  const left = async () =>
    new Set((await admin.list(definitions, { labelSelector: 'of=test' })).items.map((d) => d.metadata.name))
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=of%3Dtest'
  expect((await admin.raw({ method: 'DELETE', path })).status).toBe(500)
  await eventually(left, (names) => !names.has('gadgets.example.org'))
  expect(await left()).toEqual(new Set(['gadgets.kubenode.io', 'widgets.kubenode.io']))
  await startWebhook()
})

test('a collection of what keeps the cluster alive is not deleted either', async () => {
  const path =
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=metadata.name%3Dmachines.kubenode.io'
  const { status, text } = await admin.raw({ method: 'DELETE', path })
  expect([status, text]).toEqual([
    403,
    expect.stringMatching(/keeps the cluster alive|with a definition all its objects/),
  ])
  expect(await admin.get(definitions, { name: 'machines.kubenode.io' })).toBeDefined()
})

const nodes: ResourceType = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}
const asUser = (user: string) =>
  new HttpKubeClient({ ...connection(), impersonate: { user, groups: ['system:authenticated'] } })
const makeNodes = (prefix: string, n: number) =>
  Promise.all(
    Array.from({ length: n }, (_, i) =>
      admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: `${prefix}-${i}` } }),
    ),
  )

test('Nodes that are deleted in bulk are held to the ledger, also all at once; a hold lifts it', async () => {
  await makeNodes('bulk', 12)
  const defender = asUser('kubenode:defender')
  const before = await defender.create(defenderLedger, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderLedger',
    metadata: { name: LEDGER_NAME },
    spec: { sequence: 1 },
  })
  expect(before.spec.rates).toBeUndefined()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => said(admin.delete(nodes, { name: `bulk-${i}` }))),
  )
  expect(answers.filter((a) => a === 'accepted')).toHaveLength(3)
  expect(answers.filter((a) => a !== 'accepted').every((a) => a.includes('denied by the deletion guard: '))).toBe(true)
  expect((await admin.list(nodes)).items).toHaveLength(9)
  const [left] = (await admin.list(nodes)).items
  const name = left?.metadata.name ?? ''
  const until = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+Z$/, 'Z')
  const hold: OperationalHold = {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name: 'lift' },
    spec: {
      target: { kind: 'Cluster' as const, selector: {} },
      effect: 'Unprotect' as const,
      reason: 'a test',
      author: ADMIN,
      until,
    },
  }
  await admin.create(operationalHold, hold)
  await eventually(
    () => said(admin.delete(nodes, { name })),
    (a) => a === 'accepted',
  )
  await admin.delete(operationalHold, { name: 'lift' })
  expect(await said(admin.delete(namespaces, { name: 'kube-public' }))).toMatch(/keeps the cluster alive|forbidden/i)
  for (const name of [AGENTS_NAMESPACE, CLUSTERS_NAMESPACE])
    expect(await said(admin.delete(namespaces, { name }))).toMatch(/does not live without this namespace/)
  defender.close()
})

test('S25 what our own programs delete is held to the same limits, unless a permit names this very object', async () => {
  await makeNodes('ours', 8)
  const [controllers, defender] = [asUser('kubenode:controllers'), asUser('kubenode:defender')]
  const all = (await admin.list(nodes)).items.filter((n) => n.metadata.name?.startsWith('ours-') === true)
  const ledger = await admin.get(defenderLedger, { name: LEDGER_NAME })
  if (ledger === undefined) throw new Error('no ledger')
  const counted = ledger.spec.rates?.find((r) => r.policy === 'guard/Node/1m.cluster')?.count
  const grants = all.slice(0, 7).map(({ metadata: { name = '', uid = '' } }) => ({
    permit: 'p',
    permitUid: 'p-uid',
    target: uid,
    kind: 'Node' as const,
    name,
    operations: ['Replace' as const],
    grantedAt: '2026-01-05T00:00:00Z',
  }))
  await defender.update(defenderLedger, { ...ledger, spec: { ...ledger.spec, sequence: 10_000, grants } })
  for (const { name } of grants) await controllers.delete(nodes, { name })
  const after = await admin.get(defenderLedger, { name: LEDGER_NAME })
  expect(after?.spec.rates?.find((r) => r.policy === 'guard/Node/1m.cluster')?.count).toBe(counted)
  // The four that the test before deleted fill the minute.
  expect(await said(controllers.delete(nodes, { name: all[7]?.metadata.name ?? '' }))).toMatch(/deletion guard/)
  for (const client of [controllers, defender]) client.close()
})

test('an approval names its maker and groups of its maker, and no others', async () => {
  const ada = new HttpKubeClient({
    ...connection(),
    impersonate: { user: 'ada', groups: ['system:masters', 'system:authenticated', 'sre'] },
  })
  const made = (name: string, by: string, groups: readonly string[]): Approval => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'Approval',
    metadata: { name },
    spec: { digest: 'a'.repeat(64), by, groups },
  })
  expect(await said(ada.create(approval, made('one', 'ada', ['sre'])))).toBe('accepted')
  expect(await said(ada.create(approval, made('two', 'bob', ['sre'])))).toMatch(/must be who makes/)
  expect(await said(ada.create(approval, made('three', 'ada', ['sre', 'board'])))).toMatch(/only groups of who makes/)
  ada.close()
})

const ROLE: ResourceType = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
}
const BINDING: ResourceType = { ...ROLE, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' }

test('the right to create holds is not the right to let an edit take effect', async () => {
  const grant = async (user: string, resources: readonly string[]) => {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const rules = [{ apiGroups: [API_GROUP], resources, verbs: ['create'] }]
    await admin.create(ROLE, { apiVersion, kind: 'ClusterRole', metadata: { name: user }, rules })
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user }
    await admin.create(BINDING, { apiVersion, kind: 'ClusterRoleBinding', metadata: { name: user }, subjects, roleRef })
  }
  const hold = (name: string, effect: 'AllowEdit' | 'Pause', author: string): OperationalHold => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name },
    spec: {
      target: { kind: 'MachineComponentSet', name: 'base' },
      effect,
      ...(effect === 'AllowEdit' && { to: '2c26b46b68ffc68f' }),
      reason: 'a test',
      author,
      until: '2099-01-01T00:00:00Z',
    },
  })
  await grant('operator', ['operationalholds'])
  await grant('lead', ['operationalholds', 'operationalholds/allowedit'])
  const [operator, lead] = [asUser('operator'), asUser('lead')]
  const right = /needs the right to create operationalholds\/allowedit/
  expect(await said(operator.create(operationalHold, hold('pause', 'Pause', 'operator')))).toBe('accepted')
  expect(await said(operator.create(operationalHold, hold('allow-1', 'AllowEdit', 'operator')))).toMatch(right)
  expect(await said(lead.create(operationalHold, hold('allow-2', 'AllowEdit', 'lead')))).toBe('accepted')
  const sync = asUser('kubenode:sync')
  expect(await said(sync.create(operationalHold, hold('allow-3', 'AllowEdit', 'kubenode:sync')))).toMatch(/^403 /)
  for (const client of [operator, lead, sync]) client.close()
})

const AGENT = {
  commonName: agentUser('m-a'),
  organizations: [AGENTS_GROUP, agentNodeGroup('n-a'), machineUidGroup('u')],
}

test('S26 an agent reports while its Machine lives and its key is not revoked, and nothing afterwards', async () => {
  const { metadata } = await admin.create(machine, {
    apiVersion: API_GROUP_VERSION,
    kind: machine.kind,
    metadata: { name: 'reporting' },
    spec: { ...machine.example.spec, components: [] } as Machine['spec'],
  })
  const { uid = '' } = metadata
  const groups = [AGENTS_GROUP, agentNodeGroup('n-r'), machineUidGroup(uid), agentKeyGroup('1'.repeat(64))]
  const agent = new HttpKubeClient({ ...connection(), impersonate: { user: agentUser('reporting'), groups } })
  // A new recorder each time counts nothing together with what was reported before.
  const reports = async (): Promise<string> => {
    let refused = 'accepted'
    const client = Object.assign(Object.create(agent) as HttpKubeClient, {
      create: (...asked: Parameters<HttpKubeClient['create']>) =>
        agent.create(...asked).catch((error: unknown) => {
          refused = String(error)
          throw error
        }),
    })
    const options = { client, clock: systemClock, machine: 'reporting', machineUid: () => uid }
    const recorder = agentEvents(options)(AGENT_REPORTER)
    const regarding = { apiVersion: API_GROUP_VERSION, kind: machine.kind, metadata: { name: 'reporting', uid } }
    recorder.record(regarding, { type: 'Warning', reason: 'A', action: 'Look', note: 'first line\nsecond \u001b[2J' })
    await recorder.flush()
    return refused
  }
  const revoke = (value: string | null) =>
    admin.patch(
      machine,
      { name: 'reporting' },
      {
        type: 'merge',
        value: { metadata: { annotations: { [ANNOTATIONS.revoked]: value } } },
      },
    )
  await eventually(reports, (answer) => answer === 'accepted')
  const { items } = await admin.list(EVENTS)
  expect(items.find((e) => e['reportingInstance'] === 'reporting')?.['note']).toBe('first line second \ufffd[2J')
  await revoke('{}')
  await eventually(reports, (answer) => answer.includes('the key of this agent was revoked'))
  await revoke(null)
  await eventually(reports, (answer) => answer === 'accepted')
  await admin.delete(machine, { name: 'reporting' })
  await eventually(reports, (answer) =>
    answer.includes('the Machine that this agent has a certificate of does not exist'),
  )
  agent.close()
})

/** A request made with a join token, waiting for approval. */
async function requestOf(subject: Parameters<typeof signingRequest>[1]): Promise<CertificateRequest> {
  const impersonate = { user: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', BOOTSTRAP_GROUP] }
  const request = Buffer.from(await signingRequest(await newPrivateKey(), subject)).toString('base64')
  return new HttpKubeClient({ ...connection(), impersonate }).create(certificateRequestType, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: certificateRequestType.kind,
    metadata: { name: `request-${++served}` },
    spec: { request, signerName: AGENT_SIGNER, usages: ['client auth'], expirationSeconds: 3_600 },
  })
}

const answered = (client: KubeClient, request: CertificateRequest, type: 'Approved' | 'Denied') => {
  const condition = { type, status: 'True', reason: 'Test', message: 'by a test' }
  const conditions = [...(request.status?.conditions ?? []), condition]
  return said(
    client.update(certificateRequestType, { ...request, status: { conditions } }, { subresource: 'approval' }),
  )
}

test('S25 the key of the approver approves agents only, and nothing while the Defender is away', async () => {
  const approver = asUser('kubenode:approver')
  const account = asUser('system:serviceaccount:kubenode-system:kubenode-approver')
  const thief = await requestOf({ commonName: 'kubenode:defender' })
  for (const client of [approver, account])
    expect(await answered(client, thief, 'Approved')).toMatch(
      /^403 admission webhook "certificates\.kubenode\.io" denied the request: not approved: the common name/,
    )
  const admins = { ...AGENT, organizations: [...AGENT.organizations, 'kubeadm:cluster-admins'] }
  expect(await answered(approver, await requestOf(admins), 'Approved')).toMatch(/^403 .*the organizations must be/)
  expect(await answered(approver, await requestOf(AGENT), 'Approved')).toBe('accepted')
  expect(await answered(approver, thief, 'Denied')).toBe('accepted')

  await stopWebhook()
  expect(await answered(approver, await requestOf(AGENT), 'Approved')).toMatch(/failed calling webhook/)
  expect(await answered(admin, await requestOf(AGENT), 'Approved')).toBe('accepted')
  await startWebhook()
})

const SETS: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  namespaced: true,
}
const untilSoon = () => new Date(Date.now() + 600_000).toISOString().replace(/\.\d+Z$/, 'Z')

test('what git declares is deleted by git, or under a hold that names it', async () => {
  const key = { namespace: SYSTEM_NAMESPACE, name: 'prod' }
  const prod = (annotations: Readonly<Record<string, string>>) =>
    admin.create(clusterKind, {
      apiVersion: API_GROUP_VERSION,
      kind: 'Cluster',
      metadata: { ...key, annotations },
      spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' },
    } as unknown as Cluster)
  const declared = { [ANNOTATIONS.source]: `${SYSTEM_NAMESPACE}/fleet` }
  const [sync, controllers] = [asUser('kubenode:sync'), asUser('kubenode:controllers')]
  await prod({})
  expect(await said(admin.delete(clusterKind, key))).toBe('accepted')
  await prod(declared)
  expect(await said(admin.delete(clusterKind, key))).toMatch(
    /^403 .*git declares Cluster prod.*unprotect cluster\/prod/,
  )
  const collection = `/apis/kubenode.io/v1alpha1/namespaces/${SYSTEM_NAMESPACE}/clusters`
  expect((await admin.raw({ method: 'DELETE', path: collection })).status).toBe(403)
  expect(await admin.get(clusterKind, key)).toBeDefined()
  expect(await said(sync.delete(clusterKind, key))).toBe('accepted')
  await prod(declared)
  const hold = (name: string, target: OperationalHold['spec']['target']): OperationalHold => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name },
    spec: { target, effect: 'Unprotect', reason: 'a test', author: ADMIN, until: untilSoon() },
  })
  await admin.create(operationalHold, hold('own', { kind: 'Cluster', name: 'prod' }))
  await eventually(
    () => said(admin.delete(clusterKind, key)),
    (a) => a === 'accepted',
  )
  const { metadata, ...remedier } = changed(nodeRemedier, {})
  await apply(nodeRemedier, { ...remedier, metadata: { ...metadata, annotations: declared } })
  const it = { name: metadata.name ?? '' }
  expect(await said(admin.delete(nodeRemedier, it))).toMatch(/^403 .*git declares NodeRemedier/)
  expect(await said(controllers.delete(nodeRemedier, it))).toMatch(/^403/)
  await stopWebhook()
  expect(await said(admin.delete(nodeRemedier, it))).toMatch(/failed calling webhook/)
  expect(await said(sync.delete(nodeRemedier, it))).toBe('accepted')
  await startWebhook()
  for (const client of [sync, controllers]) client.close()
})

test('the etcd of a control plane counts in the guard, ordinary StatefulSets do not', async () => {
  for (const namespace of ['kc-one', 'shop'])
    await admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const sets = async (namespace: string, prefix: string, claims: readonly object[]): Promise<readonly string[]> => {
    const names = Array.from({ length: 12 }, (_, i) => `${prefix}-${i}`)
    for (const name of names) {
      const labels = { of: name }
      const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
      const spec = { serviceName: 'a', selector: { matchLabels: labels }, template, volumeClaimTemplates: claims }
      await admin.create(SETS, { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name, namespace }, spec })
    }
    const answers: string[] = []
    for (const name of names) answers.push(await said(admin.delete(SETS, { namespace, name })))
    return answers.filter((a) => a !== 'accepted')
  }
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  expect(await sets('shop', 'etcd', [claim])).toEqual([])
  expect(await sets('kc-one', 'api', [])).toEqual([])
  expect(await sets('kc-one', 'etcd', [claim])).toEqual([
    expect.stringContaining('10 of kind StatefulSet were deleted in 10m, the limit is 10'),
    expect.stringContaining('10 of kind StatefulSet'),
  ])
})

test('policies that an administrator deletes come back within seconds, with an event; a changed one is reported', async () => {
  const client = asUser('kubenode:defender')
  const informers = createInformers({ client, clock: systemClock, random: systemRandom, log: silentLogger })
  informers.start()
  const events = createEventRecorder({
    client,
    clock: systemClock,
    controller: 'kubenode.io/defender',
    instance: 'test',
  })
  const shipped = policiesIn(releaseManifests().rest)
  let noted = 0
  const onAltered = () => void (noted += 1)
  const keeper = new PolicyKeeper({
    client,
    informers,
    clock: systemClock,
    log: silentLogger,
    events,
    shipped,
    onAltered,
  })
  const [policy, binding] = POLICY_TYPES as readonly [ResourceType, ResourceType]
  const left = async () => (await admin.list(policy)).items.length + (await admin.list(binding)).items.length
  const notes = async (reason: string) => (await admin.list(EVENTS)).items.filter((e) => e['reason'] === reason)
  expect(await left()).toBe(shipped.length)
  keeper.start()
  try {
    for (const { kind, metadata } of shipped)
      await admin.delete(kind === policy.kind ? policy : binding, { name: metadata.name ?? '' })
    await eventually(left, (n) => n === shipped.length)
    await eventually(
      () => notes('PolicyRestored'),
      (all) => all.length > 0,
    )
    expect(await notes('PolicyChanged')).toEqual([])
    expect(await said(client.delete(policy, { name: 'kubenode-holds' }))).toMatch(/^403/)
    const weaker = { type: 'merge', value: { spec: { validationActions: ['Audit'] } } } as never
    await admin.patch(binding, { name: 'kubenode-holds' }, weaker)
    expect(await said(client.patch(binding, { name: 'kubenode-holds' }, weaker))).toMatch(/^403/)
    await eventually(
      () => notes('PolicyChanged'),
      (all) => all.length === 1,
    )
    // In the ledger of the Defender's leader, from which why, status, Home and the metric draw.
    const [changed] = await eventually(
      () => Promise.resolve(keeper.altered ?? []),
      (all) => all.length === 1,
    )
    expect(changed).toMatchObject({ kind: binding.kind, name: 'kubenode-holds', how: 'Changed' })
    expect(noted).toBeGreaterThan(0)
  } finally {
    await keeper.stop()
    await informers.stop()
    client.close()
  }
})
