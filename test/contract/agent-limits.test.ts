// S1: an agent's key gives access to its own objects and nothing else: every verb on another's objects is tried, with the shipped roles and policies.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import {
  AGENTS_GROUP,
  BOOTSTRAP_GROUP,
  SYSTEM_NAMESPACE,
  agentLeaseName,
  agentNodeGroup,
  agentUser,
  ANNOTATIONS,
  machineUidGroup,
} from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type RunningServer, apiServers } from '#test/support/servers/api-servers.ts'

const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const nodeType = core('Node', 'nodes', false)
const secretType = core('Secret', 'secrets')
const leaseType = coreKind('Lease')

const object = (type: ResourceType, name: string, rest: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: type.group === '' ? type.version : `${type.group}/${type.version}`,
  kind: type.kind,
  metadata: { name, ...metadata },
  ...rest,
})
const NODE_LEASES = 'kube-node-lease'
/** Of the Machines on the server that runs. */
const uids = new Map<string, string>()
const ofA = () => ({ annotations: { [ANNOTATIONS.machineUid]: uids.get('a') ?? '' } })
const lease = (namespace: string, name: string, metadata: object = ofA()) =>
  object(leaseType, name, { spec: { holderIdentity: name } }, { namespace, ...metadata })
const applyStatus = { fieldManager: 'kubenode-agent', force: true, subresource: 'status' } as const
const machineStatus = (name: string, metadata: object = {}) =>
  object(machine, name, { status: { bootID: 'x' } }, metadata)
const jobStatus = (name: string, status: object = {}) =>
  object(remedyOperationJob, name, {
    status: { steps: [{ index: 0, operation: 'cordon', executor: 'Agent', attempts: 1 }], ...status },
  })
const nodeStatus = (name: string, metadata: object = {}) =>
  object(nodeType, name, { status: { conditions: [{ type: 'KernelDeadlock', status: 'False' }] } }, metadata)
const freshNode = (name: string, metadata: object = {}, spec: object = {}) =>
  object(
    nodeType,
    name,
    { spec: { taints: [{ key: 'kubenode.io/components-pending', effect: 'NoSchedule' }], ...spec } },
    metadata,
  )
const owner = { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'other', uid: '1' }] }

type Attempt = readonly [what: string, attempt: (agent: KubeClient) => Promise<unknown>]

const MAY: readonly Attempt[] = [
  ['read its Machine', (a) => a.get(machine, { name: 'a' })],
  ['read a permit', (a) => a.get(operationPermit, { name: 'p' })],
  ['write the status of its Machine', (a) => a.apply(machine, machineStatus('a'), applyStatus)],
  ['write the status of its job', (a) => a.apply(remedyOperationJob, jobStatus('job-a'), applyStatus)],
  [
    'register its Node',
    (a) => a.create(nodeType, freshNode('node-a', { labels: { 'kubernetes.io/hostname': 'node-a' }, ...ofA() })),
  ],
  ['write the status of its Node', (a) => a.apply(nodeType, nodeStatus('node-a'), applyStatus)],
  ['make its Lease', (a) => a.create(leaseType, lease(SYSTEM_NAMESPACE, agentLeaseName('a')))],
  [
    'renew its Lease',
    (a) =>
      a.patch(
        leaseType,
        { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('a') },
        { type: 'merge', value: { spec: { holderIdentity: 'x' } } },
      ),
  ],
  ['make the Lease of its Node', (a) => a.create(leaseType, lease(NODE_LEASES, 'node-a'))],
]

const MAY_NOT: readonly Attempt[] = [
  ["write the status of another's Machine", (a) => a.apply(machine, machineStatus('b'), applyStatus)],
  [
    'become the agent of another Node',
    (a) =>
      a.patch(
        machine,
        { name: 'a' },
        { type: 'merge', value: { status: { nodeRef: { name: 'node-b', uid: '1' } } } },
        { subresource: 'status' },
      ),
  ],
  [
    'say the phase of its Machine',
    (a) => a.apply(machine, object(machine, 'a', { status: { bootID: 'x', phase: 'Ready' } }), applyStatus),
  ],
  ['end its job', (a) => a.apply(remedyOperationJob, jobStatus('job-a', { phase: 'Done' }), applyStatus)],
  ['give its job a permit', (a) => a.apply(remedyOperationJob, jobStatus('job-a', { permitRef: 'p' }), applyStatus)],
  [
    'write the spec of its Machine',
    (a) => a.patch(machine, { name: 'a' }, { type: 'merge', value: { spec: { pool: 'gold' } } }),
  ],
  ['delete its Machine', (a) => a.delete(machine, { name: 'a' })],
  ['make a Machine', (a) => a.create(machine, object(machine, 'c', { spec: {} }) as never)],
  ["write the status of another's job", (a) => a.apply(remedyOperationJob, jobStatus('job-b'), applyStatus)],
  [
    'change a job',
    (a) => a.patch(remedyOperationJob, { name: 'job-a' }, { type: 'merge', value: { spec: { machine: 'b' } } }),
  ],
  ["write the status of another's Node", (a) => a.apply(nodeType, nodeStatus('node-b'), applyStatus)],
  ["register another's Node", (a) => a.create(nodeType, freshNode('node-c'))],
  [
    'label its Node through its status',
    (a) =>
      a.apply(nodeType, nodeStatus('node-a', { labels: { 'node-role.kubernetes.io/control-plane': '' } }), applyStatus),
  ],
  [
    'give its Node an owner through its status (CVE-2025-5187)',
    (a) =>
      a.patch(nodeType, { name: 'node-a' }, { type: 'merge', value: { metadata: owner } }, { subresource: 'status' }),
  ],
  [
    'put a finalizer on its Node',
    (a) =>
      a.patch(
        nodeType,
        { name: 'node-a' },
        { type: 'merge', value: { metadata: { finalizers: ['x.io/y'] } } },
        { subresource: 'status' },
      ),
  ],
  [
    'untaint its Node',
    (a) => a.patch(nodeType, { name: 'node-a' }, { type: 'merge', value: { spec: { taints: null } } }),
  ],
  ['delete its Node', (a) => a.delete(nodeType, { name: 'node-a' })],
  [
    "take another's Lease",
    (a) =>
      a.patch(
        leaseType,
        { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('b') },
        { type: 'merge', value: { spec: { holderIdentity: 'x' } } },
      ),
  ],
  ["make another's Lease", (a) => a.create(leaseType, lease(SYSTEM_NAMESPACE, agentLeaseName('c')))],
  [
    'take the Lease of a program',
    (a) =>
      a.patch(
        leaseType,
        { namespace: SYSTEM_NAMESPACE, name: 'kubenode-defender' },
        { type: 'merge', value: { spec: { holderIdentity: 'x' } } },
      ),
  ],
  [
    'give its Lease an owner',
    (a) =>
      a.patch(
        leaseType,
        { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('a') },
        { type: 'merge', value: { metadata: owner } },
      ),
  ],
  ['read a Secret', (a) => a.get(secretType, { namespace: SYSTEM_NAMESPACE, name: 'x' })],
  ['list Secrets', (a) => a.list(secretType)],
  [
    'grant itself a permit',
    (a) =>
      a.patch(
        operationPermit,
        { name: 'p' },
        { type: 'merge', value: { status: { phase: 'Granted' } } },
        { subresource: 'status' },
      ),
  ],
  ['ask for a permit', (a) => a.create(operationPermit, object(operationPermit, 'q', {}) as never)],
  [
    'write the ledger',
    (a) => a.create(defenderLedger, object(defenderLedger, 'cluster', { spec: { sequence: 1 } }) as never),
  ],
]

/** Nodes that an agent of its own name may not register as it pleases. */
const NO_SUCH_NODE: readonly Attempt[] = [
  [
    'with a role',
    (d) => d.create(nodeType, freshNode('node-d', { labels: { 'node-role.kubernetes.io/control-plane': '' } })),
  ],
  ['with a label of ours', (d) => d.create(nodeType, freshNode('node-d', { labels: { 'kubenode.io/pool': 'gold' } }))],
  ['with an owner', (d) => d.create(nodeType, freshNode('node-d', owner))],
  ['with a finalizer', (d) => d.create(nodeType, freshNode('node-d', { finalizers: ['x.io/y'] }))],
  [
    'with a taint of its choice',
    (d) => d.create(nodeType, freshNode('node-d', {}, { taints: [{ key: 'x', effect: 'NoSchedule' }] })),
  ],
  [
    'with the id of another machine',
    (d) => d.create(nodeType, freshNode('node-d', {}, { providerID: 'cloud://other' })),
  ],
]

const denied = (promise: Promise<unknown>) =>
  promise.then(
    () => 'allowed',
    (e: { status?: number }) => (e.status === 403 || e.status === 422 ? 'denied' : `error ${String(e)}`),
  )

describe.each(apiServers)('on $name', (choice) => {
  let server: RunningServer
  let admin: KubeClient
  const as = (user: string, groups: readonly string[]): KubeClient =>
    new HttpKubeClient({ ...connection(), impersonate: { user, groups } })
  const agentOf = (name: string, node: string): KubeClient =>
    as(agentUser(name), [
      AGENTS_GROUP,
      agentNodeGroup(node),
      machineUidGroup(uids.get(name) ?? 'uid-d'),
      'system:authenticated',
    ])
  const connection = () => ({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })

  beforeAll(async () => {
    server = await choice.start()
    admin = new HttpKubeClient(connection())
    await installAll(admin)
    for (const name of ['a', 'b']) {
      const made = await admin.create(machine, object(machine, name, { spec: {} }) as never)
      uids.set(name, made.metadata.uid ?? '')
      const annotations = { [ANNOTATIONS.machineUid]: made.metadata.uid ?? '' }
      const spec = {
        machine: name,
        node: { name: `node-${name}`, uid: '1' },
        remedierRef: { name: 'r', generation: 1 },
        incident: 'a'.repeat(40),
        rung: 0,
        operations: [{ cordon: {} }],
      }
      await admin.create(
        remedyOperationJob,
        object(remedyOperationJob, `job-${name}`, { spec }, { annotations }) as never,
      )
    }
    await admin.create(nodeType, freshNode('node-b'))
    for (const name of [agentLeaseName('b'), 'kubenode-defender'])
      await admin.create(leaseType, lease(SYSTEM_NAMESPACE, name))
    const spec = {
      operations: ['Reboot'],
      targets: [{ kind: 'Machine', name: 'a', uid: '1' }],
      requester: { manager: 'x' },
      reason: 'x',
    }
    await admin.create(operationPermit, object(operationPermit, 'p', { spec }) as never)
  })
  afterAll(() => server?.stop())

  test.each(MAY)('an agent may %s', async (_, attempt) => {
    await attempt(agentOf('a', 'node-a'))
  })

  test.each(MAY_NOT)('an agent may not %s', async (_, attempt) => {
    expect(await denied(attempt(agentOf('a', 'node-a')))).toBe('denied')
  })

  test.each(NO_SUCH_NODE)('an agent may not register its Node %s', async (_, attempt) => {
    expect(await denied(attempt(agentOf('d', 'node-d')))).toBe('denied')
  })

  test('a member of the group who is no agent may write nothing', async () => {
    const stranger = as('eve', [AGENTS_GROUP, agentNodeGroup('node-a'), 'system:authenticated'])
    expect(await denied(stranger.apply(machine, machineStatus('a'), applyStatus))).toBe('denied')
  })

  test('a join token may ask for a certificate of our signer, and for nothing else', async () => {
    const token = as('system:bootstrap:abcdef', [BOOTSTRAP_GROUP, 'system:bootstrappers', 'system:authenticated'])
    expect(await denied(token.get(machine, { name: 'a' }))).toBe('denied')
    expect(await denied(token.create(nodeType, freshNode('node-e')))).toBe('denied')
  })

  test('verdicts belong to the Defender, also against an administrator', async () => {
    const grant = async (who: KubeClient) => {
      const permit = await admin.get(operationPermit, { name: 'p' })
      const status = { ...permit?.status, phase: 'Granted' }
      return denied(who.update(operationPermit, { ...permit, status } as OperationPermit, { subresource: 'status' }))
    }
    expect(await grant(admin)).toBe('denied')
    expect(await grant(as('kubenode:controllers', ['system:authenticated']))).toBe('denied')
    expect(await grant(as('kubenode:defender', ['system:authenticated']))).toBe('allowed')
  })

  test('an approval names who makes it', async () => {
    const approve = (by: string) =>
      denied(
        admin.create(
          { group: 'kubenode.io', version: 'v1alpha1', kind: 'Approval', plural: 'approvals', namespaced: false },
          {
            apiVersion: API_GROUP_VERSION,
            kind: 'Approval',
            metadata: { generateName: 'x-' },
            spec: { digest: 'a'.repeat(64), by },
          },
        ),
      )
    expect(await approve('ada')).toBe('denied')
  })
})
