import { expect, test } from 'vitest'
import { repairCordon } from '#nodes/faults/acceptance.ts'
import { KINDS } from '#api/kinds.ts'
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { leaseType } from '#runtime/lease.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { machine } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { nodeType } from '#nodes/objects.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FaultPort } from '#test/doubles/kube/faults.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { holdEndsOver, readWhy } from './read-why.ts'
import { withHub } from './with-hub.ts'
import { storyLines } from './finding.ts'

const API = 'kubenode.io/v1alpha1'
const NOW = Date.parse('2026-03-02T12:00:00Z')

function server() {
  const kube = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  const node = kube.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  kube.plant(machine, { apiVersion: API, kind: 'Machine', metadata: { name: 'm-1' }, spec: {} })
  kube.poke(machine, { name: 'm-1' }, { status: { nodeRef: { name: 'node-1', uid: node.metadata.uid } } }, 'status')
  for (const [name, of, kind] of [
    ['reboot-1', 'm-1', 'Reboot'],
    ['stop-2', 'm-2', 'Stop'],
  ] as const)
    kube.plant(maintenanceEvent, {
      apiVersion: API,
      kind: 'MaintenanceEvent',
      metadata: { name },
      spec: {
        machine: of,
        source: 'cloud',
        eventId: name,
        kind,
        state: 'Scheduled',
        notBefore: '2026-03-02T20:00:00Z',
      },
    })
  return kube
}

/** An account that may read these kinds and nothing else. */
const mayRead = (kinds: readonly string[]): FaultPort => ({
  call: ({ type }) =>
    type !== undefined && kinds.includes(type.kind) ? undefined : { kind: 'refuse', when: 'before', code: 403 },
})

test.each([
  [
    'a Machine, which needs no list of Machines',
    machine,
    'm-1',
    ['Machine'],
    ['maintenanceevents', 'machinecomponentsets', 'operationalholds', 'remedyoperationjobs'],
  ],
  [
    'a Node',
    nodeType,
    'node-1',
    ['Node', 'MaintenanceEvent', 'MachineComponentSet', 'RemedyOperationJob', 'OperationalHold'],
    ['machines'],
  ],
])('why of %s shows what the reader may read, and names each missing right', async (_, type, name, kinds, missing) => {
  const kube = server()
  const client = kube.client({ actor: 'reader' })
  kube.faults = mayRead(kinds)
  const object = await client.get(type, { name })
  if (object === undefined) throw new Error('not planted')
  const lines = storyLines(await readWhy(client, { ...object, status: {} }, NOW))
  expect(lines[1]).toBe('Nothing pending in what you may read.')
  expect(lines.slice(-missing.length)).toEqual(
    missing.toSorted().map((of) => `Not included: ${of}.kubenode.io; you lack the right to list them`),
  )
})

test('a server that does not answer is an error, not an object of which nothing is pending', async () => {
  const kube = server()
  const client = kube.client({ actor: 'reader' })
  const object = await client.get(machine, { name: 'm-1' })
  if (object === undefined) throw new Error('not planted')
  kube.faults = { call: () => ({ kind: 'refuse', when: 'before', code: 500 }) }
  await expect(readWhy(client, object, NOW)).rejects.toMatchObject({ status: 500 })
})

test.each([
  ['its Machine', machine, 'm-1'],
  ['its Node, which has another name', nodeType, 'node-1'],
])('why %s names work on its host, and not the work on other hosts', async (_, type, name) => {
  const client = server().client({ actor: 'test' })
  const object = await client.get(type, { name })
  if (object === undefined) throw new Error('not planted')
  const text = storyLines(await readWhy(client, object, NOW)).join('\n')
  expect(text).toContain('Work on its host:')
  expect(text).toMatch(/maintenanceevent\/reboot-1/i)
  expect(text).not.toContain('stop-2')
})

const hold = (name: string, effect: string, target: object, until = '2026-03-02T13:00:00Z'): OperationalHold =>
  ({
    apiVersion: API,
    kind: 'OperationalHold',
    metadata: { name, creationTimestamp: '2026-03-02T11:00:00Z' },
    spec: { effect, target, reason: 'r', author: 'ada', until },
  }) as unknown as OperationalHold

const set = { kind: 'MachineComponentSet', metadata: { name: 'base' } } as KubeObject
const rollout = {
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
  spec: { source: 'fleet' },
} as unknown as KubeObject
const pauseOfSet = hold('pause-machinecomponentset-base', 'Pause', { kind: 'MachineComponentSet', name: 'base' })
const freezeOfSet = hold('freeze-machinecomponentset-base', 'Freeze', { kind: 'MachineComponentSet', name: 'base' })
const freezeOfAll = hold('freeze-all', 'Freeze', { kind: 'Cluster', selector: {} })
const pauseOfSource = hold('pause-fleetsource-fleet', 'Pause', { kind: 'FleetSource', name: 'fleet' })
const byOthers = hold('night', 'Pause', { kind: 'MachineComponentSet', selector: {} })

test.each([
  ['a set', set, [pauseOfSet], 'kubenode resume set/base'],
  ['a frozen set', set, [freezeOfSet, pauseOfSet], 'kubenode thaw set/base'],
  ['a set of a frozen cluster', set, [freezeOfAll], 'kubenode thaw'],
  ['a set that something else holds', set, [byOthers], 'kubectl delete operationalholds.kubenode.io night'],
  [
    'a set of which a hold has ended',
    set,
    [{ ...pauseOfSet, spec: { ...pauseOfSet.spec, until: '2026-03-02T11:30:00Z' } }],
    undefined,
  ],
  ['another set', { ...set, metadata: { name: 'other' } }, [pauseOfSet, freezeOfSet], undefined],
  [
    'a Release',
    rollout,
    [hold('pause-release-fleet-1', 'Pause', { kind: 'Release', name: 'fleet-1' })],
    'kubenode resume release/fleet-1',
  ],
  ['a Release of a source that is held', rollout, [pauseOfSource], 'kubenode resume source/fleet'],
  ['a Release, which a freeze of machines does not stop', rollout, [freezeOfAll], undefined],
])('the command that ends the hold of %s', (_, object, holds, want) => {
  expect(holdEndsOver(object, holds, NOW)?.command?.line).toBe(want)
})

test('a set that is held names the command, and a Release that waits for it does not take it for its own', async () => {
  const waitingFor = {
    predicate: 'HoldPause',
    seen: 'hold x: y',
    since: '2026-03-02T11:00:00Z',
    unblock: 'the hold ends',
  }
  const kube = server()
  kube.plant(operationalHold, pauseOfSet)
  const client = kube.client({ actor: 'test' })
  const told = async (object: KubeObject) =>
    storyLines(await readWhy(client, { ...object, status: { waitingFor } }, NOW))
  expect(await told(set)).toEqual([
    'set/base',
    'Waiting for 1h: HoldPause',
    '  observed: hold x: y',
    '  unblocks when: the hold ends',
    '  to continue: kubenode resume set/base',
  ])
  expect((await told(rollout)).join()).not.toContain('kubenode resume')
})

test('a set under a freeze of the cluster names the thaw of the cluster, not one of the set', async () => {
  const kube = server()
  kube.plant(operationalHold, freezeOfAll)
  const paused = { type: 'Paused', status: 'True', reason: 'HoldFreeze', message: 'hold freeze-all: r' }
  const object = { ...set, status: { conditions: [paused] } }
  const lines = storyLines(await readWhy(kube.client({ actor: 'test' }), object, NOW))
  expect(lines.slice(0, 4)).toEqual([
    'set/base',
    'Paused is True: HoldFreeze: hold freeze-all: r',
    expect.stringMatching(/^ {2}A Freeze hold covers/),
    '  to continue: kubenode thaw',
  ])
  expect(lines.join()).not.toContain('thaw set/base')
})

test.each([
  ['the Node', hold('freeze-node-node-1', 'Freeze', { kind: 'Node', name: 'node-1' }), 'kubenode thaw node/node-1'],
  ['its Machine', hold('pause-machine-m-1', 'Pause', { kind: 'Machine', name: 'm-1' }), 'kubenode resume machine/m-1'],
  ['the cluster', freezeOfAll, 'kubenode thaw'],
  ['another Node', hold('freeze-node-node-2', 'Freeze', { kind: 'Node', name: 'node-2' }), undefined],
])('why of a Node names the hold of %s, and what ends it', async (_, held, command) => {
  const kube = server()
  kube.plant(operationalHold, held)
  const client = kube.client({ actor: 'test' })
  const node = await client.get(nodeType, { name: 'node-1' })
  if (node === undefined) throw new Error('not planted')
  const word = held.spec.effect === 'Freeze' ? 'Frozen' : 'Paused'
  const lines = storyLines(await readWhy(client, node, NOW))
  expect(lines.slice(1, 3)).toEqual(
    command === undefined
      ? ['Nothing of its own is pending.', 'Machine: machine/m-1']
      : [`${word} until Mon 2 Mar 13:00 UTC by ada: r`, `  to continue: ${command}`],
  )
})

test.each([
  ['Succeeded', 'Repaired by job/a '],
  ['Escalated', 'Not repaired by job/a '],
])('a repair that ended as %s is told as such', async (outcome, words) => {
  const kube = server()
  const spec = { ...remedyOperationJob.example.spec, node: { name: 'node-1', uid: 'u' }, machine: 'm-1' }
  kube.plant(remedyOperationJob, { apiVersion: API, kind: 'RemedyOperationJob', metadata: { name: 'a' }, spec })
  const status = { phase: 'Done', outcome, finishedAt: '2026-03-02T11:59:00Z' }
  kube.poke(remedyOperationJob, { name: 'a' }, { status }, 'status')
  const node = await kube.client({ actor: 'test' }).get(nodeType, { name: 'node-1' })
  if (node === undefined) throw new Error('not planted')
  expect(storyLines(await readWhy(kube.client({ actor: 'test' }), node, NOW)).join('\n')).toContain(words)
})

test('a node that no script accepted is told with the command that gives it back, also days later', async () => {
  const kube = server()
  const client = kube.client({ actor: 'test' })
  const found = await client.get(nodeType, { name: 'node-1' })
  if (found === undefined) throw new Error('not planted')
  const spec = {
    ...remedyOperationJob.example.spec,
    node: { name: 'node-1', uid: found.metadata.uid ?? '' },
    machine: 'm-1',
    operations: [{ cordon: {} }, { runScript: { component: 'memtest', version: '1.0.0' } }],
    acceptance: 1,
  }
  kube.plant(remedyOperationJob, { apiVersion: API, kind: 'RemedyOperationJob', metadata: { name: 'a' }, spec })
  const times = { startedAt: '2026-02-20T11:58:00Z', finishedAt: '2026-02-20T11:59:00Z' }
  kube.poke(remedyOperationJob, { name: 'a' }, { status: { phase: 'Done', outcome: 'Transient', ...times } }, 'status')
  const owners = JSON.stringify({ [repairCordon(spec.incident)]: { reason: 'r' } })
  const cordoned = {
    ...found,
    metadata: { ...found.metadata, annotations: { 'kubenode.io/cordon-owners': owners } },
    spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] },
  }
  const lines = async (node: KubeObject) => storyLines(await readWhy(client, node, NOW))
  expect(await lines(cordoned)).toEqual(
    expect.arrayContaining([
      expect.stringContaining('node/node-1 not accepted by script memtest 1.0.0 of rule '),
      '  to unblock: kubectl delete remedyoperationjob a --wait=false',
    ]),
  )
  expect((await lines(found)).join()).not.toContain('not accepted')
})

test('a machine whose agent misses its heartbeats says for how long, before it counts as silent', async () => {
  const kube = server()
  const conditions = [
    {
      type: 'AgentReachable',
      status: 'True',
      reason: 'LeaseRenewed',
      message: '',
      lastTransitionTime: '2026-03-02T11:00:00Z',
    },
  ]
  kube.poke(machine, { name: 'm-1' }, { status: { phase: 'Ready', conditions } }, 'status')
  const lease = (secondsAgo: number) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('m-1') },
    spec: { renewTime: new Date(NOW - secondsAgo * 1_000).toISOString() },
  })
  const lines = async (kind: string) => {
    const type = kind === 'Node' ? nodeType : machine
    const name = kind === 'Node' ? 'node-1' : 'm-1'
    const found = await kube.client({ actor: 'test' }).get<KubeObject>(type, { name })
    if (found === undefined) throw new Error(`no ${name}`)
    return storyLines(await readWhy(kube.client({ actor: 'test' }), { ...found, kind }, NOW)).join('\n')
  }
  kube.plant(leaseType, lease(9))
  expect(await lines('Machine')).not.toContain('No heartbeat')
  await kube.client({ actor: 'test' }).delete(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('m-1') })
  kube.plant(leaseType, lease(31))
  for (const kind of ['Machine', 'Node'])
    expect(await lines(kind)).toContain('No heartbeat from its agent for 31s: this state may be out of date')
})

test.each([
  ['file:///srv/fleet', 'git revert --no-edit 0123456789ab'],
  ['https://git.example.org/fleet.git', 'git revert --no-edit 0123456789ab && git push'],
])('a failed release of the repository %s advises %s', async (url, line) => {
  const kube = server()
  const namespace = SYSTEM_NAMESPACE
  kube.plant(fleetSource, {
    apiVersion: API,
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace },
    spec: { url, ref: { branch: 'main' }, tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }] },
  })
  const failed = {
    apiVersion: API,
    kind: 'Release',
    metadata: { name: 'r', namespace },
    spec: { source: 'fleet' },
    status: { waitingFor: { predicate: 'StageFailed', unblock: 'git revert --no-edit 0123456789ab && git push' } },
  }
  const client = kube.client({ actor: 'test' })
  const lines = storyLines(await withHub(await readWhy(client, failed, NOW), failed, client, async () => []))
  expect(lines.filter((l) => l.includes('git revert')).map((l) => l.slice(l.indexOf('git')))).toContain(line)
})
