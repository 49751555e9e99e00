import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { cloneJson } from '#lib/json.ts'
import type { In, Out } from './build.ts'
import { choice, fallback, freeform, int, intOrPercent, list, map, mapList, obj, optional, str } from './build.ts'
import type { InputOf, ObjectOf } from './kind.ts'
import { KINDS } from './kinds.ts'
import { cluster } from './kinds/cluster.ts'
import { machineComponent } from './kinds/machine-component.ts'
import { machineSet, type MachineSet } from './kinds/machine-set.ts'
import { machine, type Machine } from './kinds/machine.ts'
import { nodeRemedier } from './kinds/node-remedier.ts'
import { rejectedObject } from '../../test/support/kinds/rejected.ts'
import { formatProblem } from './problem.ts'
import { createValidator } from './validate.ts'

const validator = createValidator()

const lines = (kind: (typeof KINDS)[number], changes: Readonly<Record<string, unknown>>) =>
  validator.problems(kind, rejectedObject({ kind, changes })).map(formatProblem)

describe('the validator says', () => {
  test.each([
    [
      'an unknown field, and what was meant',
      machineSet,
      { '/spec/replica': 3 },
      'KN5001: /spec/replica: is not a known field; allowed: replicas, selector, template, deleteOrder, maxUnavailable; did you mean replicas?',
    ],
    ['a missing field', machineSet, { '/spec/template': undefined }, 'KN5002: /spec/template: is required'],
    [
      'a wrong type',
      machineSet,
      { '/spec/replicas': '3' },
      'KN5003: /spec/replicas: has the wrong type; got "3"; allowed: integer',
    ],
    [
      'of a flavor, only the fields that it does not have and that are there',
      cluster,
      {
        '/spec/kubeconfigSecretRef': undefined,
        '/spec/version': '1.36.2',
        '/spec/controlPlane': { flavor: 'embedded', replicas: 2, rotation: { certificateAuthority: 2 } },
      },
      'KN5007: /spec/controlPlane/replicas: replicas is only for flavor kubernetes; leave it out',
    ],
    [
      'a number out of range',
      machineSet,
      { '/spec/replicas': -1 },
      'KN5003: /spec/replicas: is out of range; got -1; allowed: 0 to 20000',
    ],
    [
      'an absurd number',
      machineSet,
      { '/spec/replicas': 1e300 },
      'KN5003: /spec/replicas: is out of range; got 1e+300; allowed: 0 to 20000',
    ],
    [
      'a percentage above all',
      machineSet,
      { '/spec/maxUnavailable': '101%' },
      'KN5003: /spec/maxUnavailable: has the wrong format; got "101%"; allowed: a whole number, or a percentage from 0% to 100%',
    ],
    [
      'a word that is almost right',
      machineSet,
      { '/spec/deleteOrder': 'Oldst' },
      'KN5003: /spec/deleteOrder: is not an allowed value; got "Oldst"; allowed: Unhealthy, Newest, Oldest, Random; did you mean Oldest?',
    ],
    [
      'a list item that was there before',
      machine,
      { '/spec/components/1/name': 'containerd' },
      'KN5003: /spec/components/1: has the same name as an earlier item',
    ],
    [
      'a duration that is none',
      nodeRemedier,
      { '/spec/cooldown': '10 minutes' },
      'KN5003: /spec/cooldown: has the wrong format; got "10 minutes"; allowed: a duration such as 90s, 5m or 1h30m',
    ],
    [
      'a duration longer than a year',
      nodeRemedier,
      { '/spec/cooldown': '9000h' },
      'KN5007: /spec/cooldown: is longer than a year; got "9000h"; allowed: a duration such as 90s, 5m or 1h30m',
    ],
    [
      'a namespace where there is none',
      machine,
      { '/metadata/namespace': 'x' },
      'KN5007: /metadata/namespace: must be left out: a Machine belongs to the whole cluster; got "x"',
    ],
    [
      'a name that is not the one of the version',
      machineComponent,
      { '/metadata/name': 'containerd' },
      'KN5007: /metadata/name: is not the name of containerd 2.1.4; allowed: containerd.2.1.4',
    ],
    [
      'a range that is none',
      machineComponent,
      { '/spec/requires/0/range': '>=banana' },
      'KN5007: /spec/requires/0/range: is not a version range; got ">=banana"; allowed: a semver range such as ">=1.30 <1.36", "^2.1" or "1.x"',
    ],
    [
      'a path that climbs',
      machineComponent,
      { '/spec/files/0/path': '/etc/../root/x' },
      'KN5007: /spec/files/0/path: must not contain ".."; got "/etc/../root/x"; allowed: an absolute path',
    ],
    [
      'labels that the template lacks',
      machineSet,
      { '/spec/template/metadata': undefined },
      'KN5007: /spec/template/metadata/labels: lacks kubenode.io/pool=workers, which spec.selector.matchLabels asks for; allowed: kubenode.io/pool=workers',
    ],
    [
      'a rule with two branches',
      nodeRemedier,
      { '/spec/when': { all: [], any: [] } },
      'KN5007: /spec/when: has all and any; allowed: exactly one of all, any, not',
    ],
    [
      'a condition without its parts',
      nodeRemedier,
      { '/spec/when': { not: { fact: 'conditions', value: 1 } } },
      'KN5007: /spec/when/not/operator: is required and must be a string; allowed: all, any or not over conditions {fact, operator, value}',
    ],
    [
      'a path that is no pointer',
      nodeRemedier,
      { '/spec/when': { any: [{ fact: 'labels', path: '$.x', operator: 'equal', value: 1 }] } },
      'KN5007: /spec/when/any/0/path: is not a JSON pointer; allowed: a path such as /status/phase',
    ],
    [
      'another kind',
      machine,
      { '/kind': 'Machin' },
      'KN5009: the object: is no Machine; got kubenode.io/v1alpha1 Machin; allowed: kubenode.io/v1alpha1 Machine',
    ],
  ] as const)('%s', (_, kind, changes, line) => expect(lines(kind, changes)).toEqual([line]))

  test('everything that is wrong at once', () => {
    expect(lines(machineSet, { '/spec/replicas': -1, '/spec/deleteOrder': 1, '/spec/x': 1 })).toHaveLength(4)
  })

  test('what is no object at all', () => {
    expect(validator.problems(machine, [1]).map(formatProblem)).toEqual([
      'KN5003: the object: has the wrong type; got a list of 1; allowed: an object',
    ])
  })

  test('a rule tree that is too large', () => {
    const leaf = { fact: 'labels', path: '/x', operator: 'equal', value: 'y'.repeat(1_000) }
    expect(lines(nodeRemedier, { '/spec/when': { all: Array.from({ length: 17 }, () => leaf) } })).toEqual([
      expect.stringMatching(/^KN5007: \/spec\/when: is \d+ bytes of JSON, at most 16384 are allowed/),
    ])
  })

  test('nesting without end, without running out of stack', () => {
    let deep: unknown = {}
    for (let i = 0; i < 50_000; i++) deep = { not: deep }
    const object = { ...cloneJson(nodeRemedier.example), spec: { ...nodeRemedier.example.spec, when: deep } }
    expect(validator.problems(nodeRemedier, object).map((p) => p.code)).toEqual(['KN5003'])
  })

  test('a flood of unknown fields costs no more than the first hundred', () => {
    const flood = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`field${i}`, i]))
    const value = { ...machineSet.example, spec: flood }
    expect(createValidator().problems(machineSet, value)).toHaveLength(100)
  })

  test('fields with evil names are plain unknown fields', () => {
    const object = JSON.parse(
      '{"apiVersion":"kubenode.io/v1alpha1","kind":"Machine","metadata":{"name":"a"},"spec":{"__proto__":{"channel":"SSH"},"constructor":1}}',
    ) as unknown
    expect(validator.problems(machine, object).map((p) => `${p.code} ${p.pointer}`)).toEqual([
      'KN5001 /spec/__proto__',
      'KN5001 /spec/constructor',
    ])
  })
})

test('parse throws one error that lists every problem', () => {
  expect(() =>
    validator.parse(machineSet, rejectedObject({ kind: machineSet, changes: { '/spec/replicas': -1 } })),
  ).toThrow(
    'KN5000: cannot accept MachineSet "workers"; fix the following and try again:\n  KN5003: /spec/replicas: is out of range; got -1; allowed: 0 to 20000',
  )
})

test('whatever is thrown at it, the validator answers', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.jsonValue({ maxDepth: 6 }),
      fc.jsonValue({ maxDepth: 4 }),
      (kind, spec, metadata) => {
        const object = { apiVersion: 'kubenode.io/v1alpha1', kind: kind.kind, metadata, spec }
        expect(validator.problems(kind, object).length).toBeGreaterThan(0)
      },
    ),
    { numRuns: 200 },
  )
})

describe('types follow the schema', () => {
  const f = obj('', {
    a: str('', { max: 1 }),
    b: optional(int('', { min: 0, max: 1 })),
    c: fallback(choice('', ['X', 'Y']), 'X'),
    d: optional(
      mapList('', obj('', { k: str('', { max: 1 }), v: fallback(int('', { min: 0, max: 1 }), 0) }), {
        keys: ['k'],
        max: 1,
      }),
    ),
    e: optional(map('', list('', intOrPercent('', { min: 0, max: 1 }), { max: 1 }), { max: 1 })),
    g: optional(freeform('', { maxBytes: 1 })),
  })

  test('a reader sees defaults as always there', () => {
    expectTypeOf<Out<typeof f>['a']>().toEqualTypeOf<string>()
    expectTypeOf<Out<typeof f>['c']>().toEqualTypeOf<'X' | 'Y'>()
    expectTypeOf<NonNullable<Out<typeof f>['d']>[number]['v']>().toEqualTypeOf<number>()
    expectTypeOf<NonNullable<Out<typeof f>['e']>>().toEqualTypeOf<{
      readonly [key: string]: readonly (number | `${number}%`)[]
    }>()
    expectTypeOf<Machine['spec']['channel']>().toEqualTypeOf<'Agent' | 'SSH' | 'Observe'>()
    expectTypeOf<MachineSet['spec']['template']['spec']['channel']>().toEqualTypeOf<'Agent' | 'SSH' | 'Observe'>()
    expectTypeOf<NonNullable<Machine['status']>['phase']>().toExtend<string | undefined>()
  })

  test('a writer may leave defaults out, and nothing else', () => {
    expectTypeOf<{ a: string }>().toExtend<In<typeof f>>()
    expectTypeOf<{ b: number }>().not.toExtend<In<typeof f>>()
    expectTypeOf<{ a: string; c: 'Z' }>().not.toExtend<In<typeof f>>()
    expectTypeOf<InputOf<typeof machineSet>['spec']>().toHaveProperty('selector')
    expectTypeOf<ObjectOf<typeof machine>>().toEqualTypeOf<Machine>()
  })
})
