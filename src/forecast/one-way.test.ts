import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type DesiredObject, type RenderedTarget } from '#delivery/desired.ts'
import { componentObjectName } from '#lib/names.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { differenceOf } from '#sync/difference.ts'
import { oneWaySteps } from './one-way.ts'

const made = (apiVersion: string, kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name },
  spec,
})
const target = (objects: readonly KubeObject[]): RenderedTarget => ({
  objects: objects.map((object): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
  rejected: [],
})
const found = (before: readonly KubeObject[], after: readonly KubeObject[]): readonly string[] => {
  const [old, now] = [new Map([['prod', target(before)]]), new Map([['prod', target(after)]])]
  return oneWaySteps(differenceOf(old, now), old, now).map(({ cluster, what }) => `${cluster}: ${what}`)
}

const set = (versions: Readonly<Record<string, string>>) =>
  made(API_GROUP_VERSION, 'MachineComponentSet', 'base', {
    components: Object.entries(versions).map(([name, version]) => ({ name, version })),
  })
const HOOK = { command: ['/bin/true'] }
const beacon = (version: string, hooks?: object) =>
  made(API_GROUP_VERSION, 'MachineComponent', componentObjectName('beacon', version), {
    component: 'beacon',
    version,
    hooks,
  })
const machines = (replicas: number) =>
  made(API_GROUP_VERSION, 'MachineSet', 'workers', { replicas, selector: { matchLabels: { a: 'b' } } })

test.each<[string, readonly KubeObject[], readonly KubeObject[], readonly string[]]>([
  ['another version', [set({ beacon: '1.0.0' }), beacon('1.0.0')], [set({ beacon: '1.1.0' }), beacon('1.1.0')], []],
  [
    'a version with hooks',
    [set({ beacon: '1.0.0' }), beacon('1.0.0')],
    [set({ beacon: '1.1.0' }), beacon('1.1.0', { preSwitch: HOOK, uninstall: HOOK })],
    ['prod: runs preSwitch of beacon 1.1.0; a revert does not undo what it did'],
  ],
  [
    'a version whose hooks ran already',
    [set({ beacon: '1.1.0' }), beacon('1.1.0', { preSwitch: HOOK })],
    [set({ beacon: '1.1.0', scribe: '1.0.0' }), beacon('1.1.0', { preSwitch: HOOK })],
    [],
  ],
  [
    'a component that leaves with a hook of its own',
    [set({ beacon: '1.0.0' }), beacon('1.0.0', { postSwitch: HOOK, uninstall: HOOK })],
    [set({})],
    ['prod: runs uninstall of beacon 1.0.0; a revert does not undo what it did'],
  ],
  ['fewer machines', [machines(3)], [machines(1)], ['prod: deletes 2 machines; a revert creates new ones']],
  ['more machines', [machines(1)], [machines(3)], []],
  [
    'a namespace and a kind',
    [made('v1', 'Namespace', 'shop'), made('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'a.b')],
    [],
    [
      'prod: deletes Namespace/shop with everything in it',
      'prod: deletes CustomResourceDefinition.apiextensions.k8s.io/a.b with all objects of its kind',
    ],
  ],
  ['an object that git declares whole', [made('v1', 'ConfigMap', 'a')], [], []],
])('%s', (_, before, after, expected) => {
  expect(found(before, after)).toEqual(expected)
})

test('what is lost in the last cluster comes before the hooks of the first', () => {
  const hooked = [set({ beacon: '1.1.0' }), beacon('1.1.0', { preSwitch: HOOK })]
  const old = new Map([
    ['a', target([set({ beacon: '1.0.0' })])],
    ['z', target([made('v1', 'Namespace', 'shop')])],
  ])
  const now = new Map([
    ['a', target(hooked)],
    ['z', target([])],
  ])
  expect(oneWaySteps(differenceOf(old, now), old, now).map((o) => o.cluster)).toEqual(['z', 'a'])
})
