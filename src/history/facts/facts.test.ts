// Tests that an object survives the round trip into facts, that rules read the same from it afterwards, and that no secret is recorded.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { KINDS } from '#api/kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { timestamp } from '#lib/clock.ts'
import { nodeView } from '#nodes/faults/node-view.ts'
import type { Node } from '#nodes/objects.ts'
import { EXISTS, factsOf, objectFrom } from './facts.ts'
import { templateOf } from './redact.ts'
import { SHAPES, shapeOfKind } from './shapes.ts'

const uid = '0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa'

function thereAndBack(object: KubeObject): KubeObject | undefined {
  const shape = shapeOfKind(object.kind)
  if (shape === undefined) throw new Error(`${object.kind} is not recorded`)
  const { name = '', namespace } = object.metadata
  return objectFrom({ name, namespace, uid: object.metadata.uid ?? '', facts: factsOf(object, shape) }, shape)
}

const example = (kind: string): KubeObject => {
  const found = KINDS.find((k) => k.kind === kind)
  if (found === undefined) throw new Error(`${kind} is no kind`)
  const { metadata, ...rest } = found.example as unknown as KubeObject
  return { ...rest, apiVersion: 'kubenode.io/v1alpha1', kind, metadata: { ...metadata, uid } }
}

test.each(SHAPES.filter(({ type }) => type.kind !== 'Node').map(({ type }) => type.kind))(
  'an example of %s is the same after it was recorded, without what its shape omits',
  (kind) => {
    const object = example(kind)
    const back = thereAndBack(object)
    const omitted = new Set(shapeOfKind(kind)?.omit)
    const expected = Object.fromEntries(
      Object.entries(object['spec'] as object).filter(([key]) => !omitted.has(`spec/${key}`)),
    )
    expect(back?.['spec']).toEqual(expected)
    expect(back?.metadata).toMatchObject({ name: object.metadata.name, uid })
  },
)

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,10}$/)
const label = fc.stringMatching(/^[a-z]{1,5}(\/[a-z~.]{1,6})?$/)
const time = fc.integer({ min: 1_600_000_000, max: 1_900_000_000 }).map((s) => timestamp(s * 1_000))
const condition = fc.record({
  type: word,
  status: fc.constantFrom('True', 'False', 'Unknown'),
  reason: word,
  message: fc.constantFrom('', 'the kubelet is gone', 'disk full'),
  lastTransitionTime: time,
})
const node: fc.Arbitrary<Node> = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Node'),
  metadata: fc.record({
    name: fc.constant('n-1'),
    uid: fc.constant(uid),
    creationTimestamp: time,
    labels: fc.dictionary(label, word, { maxKeys: 4, noNullPrototype: true }),
    annotations: fc.dictionary(label, word, { maxKeys: 3, noNullPrototype: true }),
  }),
  spec: fc.record(
    {
      unschedulable: fc.boolean(),
      taints: fc.array(fc.record({ key: word, effect: fc.constant('NoSchedule') }), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  ),
  status: fc.record({
    conditions: fc.uniqueArray(condition, { selector: (c) => c.type, maxLength: 5 }),
    nodeInfo: fc.record({ kubeletVersion: word, kernelVersion: word, bootID: fc.uuid(), architecture: word }),
  }),
})

const shownToRules = (object: Node) => {
  const { facts, standing } = nodeView(object, undefined)
  const none = (map: unknown) => (map !== null && typeof map === 'object' && Object.keys(map).length === 0 ? null : map)
  return { standing, facts: { ...facts, labels: none(facts['labels']), annotations: none(facts['annotations']) } }
}

test('a rule sees the same node in the history as in the cluster', () => {
  fc.assert(
    fc.property(node, (object) => {
      const back = thereAndBack(object) as unknown as Node
      expect(shownToRules(back)).toEqual(shownToRules(object))
    }),
  )
})

test('what a machine reports about its components is the same, with its times', () => {
  const since = '2026-11-20T10:00:00Z'
  const components = [
    { name: 'kubelet', version: '1.34.2', state: 'Healthy', since },
    { name: 'containerd', version: '2.1.4', state: 'Failed', since, message: 'exited with a code' },
  ]
  const object = { ...example(machine.kind), status: { phase: 'Ready', components } }
  expect(thereAndBack(object)?.['status']).toEqual({ phase: 'Ready', components })
})

test('a heartbeat is no change', () => {
  const at = (lastHeartbeatTime: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', uid },
    status: {
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime, lastTransitionTime: '2026-11-20T10:00:00Z' }],
    },
  })
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  expect(factsOf(at('2026-11-20T10:00:10Z'), shape)).toEqual(factsOf(at('2026-11-20T10:05:00Z'), shape))
})

const PLANTED = 'hunter2-Zq8v-0000'

test.each([
  [
    'in a message',
    { status: { conditions: [{ type: 'Ready', status: 'False', message: `login failed: password=${PLANTED}` }] } },
  ],
  [
    'as a bearer token',
    { status: { conditions: [{ type: 'Ready', status: 'False', message: `got Authorization: Bearer ${PLANTED}` }] } },
  ],
  [
    'in the address of a proxy',
    { status: { conditions: [{ type: 'X', status: 'True', message: `via https://u:${PLANTED}@proxy.example` }] } },
  ],
  ['in an annotation', { metadata: { annotations: { 'example.org/api-key': PLANTED } } }],
  [
    'in the output of a step',
    { kind: 'RemedyOperationJob', status: { steps: [{ index: 0, output: `export TOKEN=${PLANTED}` }] } },
  ],
  [
    'among the values of a set',
    { kind: 'MachineComponentSet', spec: { components: [{ name: 'a', values: { registryPassword: PLANTED } }] } },
  ],
  [
    'as a key in PEM',
    {
      status: {
        conditions: [{ type: 'X', message: `-----BEGIN PRIVATE KEY-----\n${PLANTED}\n-----END PRIVATE KEY-----` }],
      },
    },
  ],
])('a secret %s is not recorded', (_, part) => {
  const { metadata, ...rest } = part as { readonly metadata?: object }
  const object = { apiVersion: 'v1', kind: 'Node', ...rest, metadata: { name: 'n', uid, ...metadata } } as KubeObject
  const shape = shapeOfKind(object.kind)
  if (shape === undefined) throw new Error('it is recorded')
  expect(JSON.stringify(factsOf(object, shape))).not.toContain(PLANTED)
})

test.each([
  ['last seen active 3m12s ago; threshold is 3m0s', 'last seen active # ago; threshold is #'],
  ['91.2% of /var used', '#% of /var used'],
  ['no answer from 10.0.0.7:6443', 'no answer from <address>'],
  ['pod 0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa hangs', 'pod <uid> hangs'],
  ['container n-17 on disk-2 exited', 'container n-17 on disk-2 exited'],
])('of the message %j of thousands of nodes the form is kept', (text, form) => {
  expect(templateOf(text).replace('#%', '#')).toBe(form.replace('#%', '#'))
})

test.each([
  ['a list that is none', 'status/conditions', '"text"'],
  ['a list of no names', 'status/conditions', '[null,{}]'],
  ['an item that is none', 'status/conditions/Ready', '7'],
  ['a section that is none', 'spec', '7'],
  ['inherited names', '__proto__/x/y', '7'],
])('%s in an import does not end the program that asks', (_, topic, value) => {
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  const known = { reported: undefined }
  const facts = [
    { topic: EXISTS, value: 'true', ...known },
    { topic, value, ...known },
    { topic: 'status/conditions', value: '["Ready"]', ...known },
    { topic: 'spec/taints', value: '[]', ...known },
  ]
  for (const all of [facts, facts.slice(0, 2), facts.toReversed()])
    expect(objectFrom({ name: 'n', uid, facts: all }, shape)?.metadata.name).toBe('n')
  expect(({} as Record<string, unknown>)['x']).toBeUndefined()
})

test('an object that does not exist has no facts, and is no object', () => {
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  expect(objectFrom({ name: 'n', uid, facts: [] }, shape)).toBeUndefined()
  expect(
    objectFrom({ name: 'n', uid, facts: [{ topic: EXISTS, value: 'true', reported: undefined }] }, shape),
  ).toBeDefined()
})
