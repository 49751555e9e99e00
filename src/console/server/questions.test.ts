import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { seededRandom } from '#lib/random.ts'
import { nodeType } from '#nodes/objects.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { clusterWith } from '#test/support/console/home-states.ts'
import type { WhyNode } from '../protocol.ts'
import { searched, whyAnswer } from './questions.ts'

const linesOf = ({ text, below }: WhyNode): readonly string[] => [text, ...below.flatMap(linesOf)]

test('why of a Node names the rights that are missing for its repair, and gives no verdict without them', async () => {
  const kube = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  kube.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  const client = kube.client({ actor: 'reader' })
  kube.faults = {
    call: ({ type }) => (type?.kind === 'NodeRemedier' ? { kind: 'refuse', when: 'before', code: 403 } : undefined),
  }
  const { tree } = await whyAnswer({
    client,
    cluster: 'prod',
    kind: 'Node',
    name: 'node-1',
    namespace: undefined,
    now: 0,
    away: [],
    hubs: [],
  })
  const lines = linesOf(tree)
  expect(lines.slice(lines.indexOf('its repair'))).toEqual([
    'its repair',
    'Not included: noderemediers.kubenode.io; you lack the right to list them',
  ])
})

test('why begins with the programs that would have to move the object on, and are away', async () => {
  const kube = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  kube.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  const { tree } = await whyAnswer({
    client: kube.client({ actor: 'reader' }),
    cluster: 'prod',
    kind: 'Node',
    name: 'node-1',
    namespace: undefined,
    now: 240_000,
    away: [
      { program: 'defender', since: 0 },
      { program: 'sync', since: 0 },
    ],
    hubs: [],
  })
  expect(tree.below[0]).toEqual({
    text: 'Stopped for 4m: the Defender has not renewed the lease since Thu 1 Jan 00:00 UTC; no permit is granted, so disruptions do not begin',
    cause: 'program/defender',
    lift: { text: 'kubenode check', isCommand: true },
    below: [],
  })
  expect(linesOf(tree).join('\n')).not.toContain('sync has')
})

test.each<readonly [string, boolean]>([
  ['/home/ada/fleet', false],
  ['https://git.example.org/fleet.git', true],
])('a revert that is advised for a set of %s is pushed: %s', async (url, isPushed) => {
  const waitingFor = {
    predicate: 'RevisionFailed',
    since: '1970-01-01T00:00:00Z',
    unblock: 'run git revert --no-edit c0ffee12 && git push',
  }
  const annotations = { [ANNOTATIONS.source]: 'kubenode-system/fleet' }
  const set = { kind: 'MachineComponentSet', metadata: { name: 'base', annotations }, status: { waitingFor } }
  const own = {
    get: async ({ kind }: { kind: string }) => (kind === set.kind ? set : undefined),
    list: async () => ({ items: [] }),
  }
  const source = { metadata: { name: 'fleet' }, spec: { url } }
  const { tree } = await whyAnswer({
    client: own as unknown as KubeClient,
    cluster: 'prod',
    kind: set.kind,
    name: 'base',
    namespace: undefined,
    now: 0,
    away: [],
    hubs: [{ context: 'hub', read: (ask) => ask({ get: async () => source } as unknown as KubeClient) }],
  })
  const lifts = tree.below.flatMap(({ lift }) => lift?.text ?? [])
  expect(lifts).toEqual([`git revert --no-edit c0ffee12${isPushed ? ' && git push' : ''}`])
})

test('repairs and permits are found by what they are for, and named so: their names are letters and digits', () => {
  const { state, ...rights } = clusterWith({
    lists: {
      jobs: [
        {
          metadata: { name: 'deadlock-4be0643f1d98573b-0' },
          spec: { node: { name: 'n-3' }, remedierRef: { name: 'deadlock' } },
        },
      ],
      permits: [{ metadata: { name: 'deadlock-4be0' }, spec: { reason: 'rule deadlock on n-3', targets: [] } }],
    },
  })
  const { hits } = searched('n-3', [state], new Map([[state.name, { ...rights, seesTrouble: true }]]))
  expect(hits.map(({ name, called }) => [name, called])).toEqual([
    ['deadlock-4be0643f1d98573b-0', 'repair of node n-3 by rule deadlock'],
    ['deadlock-4be0', 'permit for rule deadlock on n-3'],
  ])
})
