import { describe, expect, test } from 'vitest'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { createValidator } from '#api/validate.ts'
import { type ControllerRevision, REMEDIER_ANNOTATION, RuleBook, revisionName } from './active-rule.ts'

const GOOD = { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] }

const remedier = (when: unknown, generation = 1): NodeRemedier =>
  ({
    ...nodeRemedier.example,
    metadata: { name: 'r', uid: 'u', generation },
    spec: { ...nodeRemedier.example.spec, when },
  }) as unknown as NodeRemedier

const kept = (from: NodeRemedier, revision = 1, uid = 'u'): ControllerRevision => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name: revisionName(from),
    annotations: { [REMEDIER_ANNOTATION]: 'r' },
    ownerReferences: [{ apiVersion: 'kubenode.io/v1alpha1', kind: 'NodeRemedier', name: 'r', uid }],
  },
  revision,
  data: { spec: from.spec },
})

const broken = [
  ['a fact that is misspelt', { all: [{ fact: 'condition', path: '/X/status', operator: 'equal', value: 'True' }] }],
  ['an operator that there is not', { all: [{ fact: 'name', operator: 'equals', value: 'x' }] }],
  ['an empty list', { all: [] }],
  ['a JSONPath', { all: [{ fact: 'conditions', path: '$.X.status', operator: 'equal', value: 'True' }] }],
  [
    'a path into a prototype',
    { all: [{ fact: 'conditions', path: '$..constructor', operator: 'equal', value: 'True' }] },
  ],
] as const

describe('the rule that is asked', () => {
  test('is the newest when it is good', () => {
    const { active, problem } = new RuleBook().read(remedier(GOOD, 4), [])
    expect([active?.generation, problem]).toEqual([4, undefined])
  })

  test.each(broken)('is the last good one when the newest has %s', (_, when) => {
    const { active, problem } = new RuleBook().read(remedier(when, 5), [
      kept(remedier(GOOD), 3),
      kept(remedier(GOOD), 2),
    ])
    expect(active?.generation).toBe(3)
    expect(problem).toBeTypeOf('string')
  })

  test.each(broken)('is none when there never was a good one: %s', (_, when) => {
    expect(new RuleBook().read(remedier(when), []).active).toBeUndefined()
  })

  test('is the very same while only its status changes, and another when anything else does', () => {
    const book = new RuleBook()
    const first = book.read(remedier(GOOD, 4), []).active
    const told = { ...remedier(GOOD, 4), status: { counts: { matching: 7 } } } as unknown as NodeRemedier
    expect(book.read(told, []).active).toBe(first)
    const { metadata } = told
    const others: readonly Partial<NodeRemedier>[] = [
      { metadata: { ...metadata, generation: 5 } },
      { metadata: { ...metadata, uid: 'another' } },
      { metadata: { ...metadata, annotations: { 'kubenode.io/commit': 'c' } } },
      { spec: { ...told.spec, cooldown: '7s' } },
    ]
    for (const other of others) expect(book.read({ ...told, ...other }, []).active).not.toBe(first)
  })

  test('is never one that was kept for another object of the same name', () => {
    expect(new RuleBook().read(remedier({ all: [] }), [kept(remedier(GOOD), 1, 'another')]).active).toBeUndefined()
  })

  test('is passed over when what was kept is itself broken', () => {
    const revisions = [kept(remedier({ all: [] }), 9), kept(remedier(GOOD), 2)]
    expect(new RuleBook().read(remedier({ all: [] }), revisions).active?.generation).toBe(2)
  })

  test.each<[string, Partial<ControllerRevision>]>([
    ['is not named by its rule', { metadata: { ...kept(remedier(GOOD)).metadata, name: 'rule-r-0123456789ab' } }],
    ['holds another rule than its name says', { data: { spec: remedier({ any: GOOD.all }).spec } }],
    [
      'is of an object of another kind',
      {
        metadata: {
          ...kept(remedier(GOOD)).metadata,
          ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'r', uid: 'u' }],
        },
      },
    ],
  ])('S25 is never one of a record that %s', (_, change) => {
    const planted = { ...kept(remedier(GOOD), 9), ...change }
    expect(new RuleBook().read(remedier({ all: [] }), [planted]).active).toBeUndefined()
  })

  test('has a name that follows from its content alone', () => {
    const name = (r: NodeRemedier) => new RuleBook().read(r, []).active?.revision
    expect(name(remedier(GOOD, 1))).toBe(name(remedier(GOOD, 2)))
    expect(name(remedier(GOOD))).not.toBe(name(remedier({ any: GOOD.all })))
  })

  test('is valid as the example of its kind is', () => {
    expect(createValidator().problems(nodeRemedier, nodeRemedier.example)).toEqual([])
  })
})
