// Kinds of a released version only gain: whatever an earlier version accepted, served and stored stays as it was.
import { describe, expect, test } from 'vitest'
import { crdOf } from '#api/crd.ts'
import { KINDS } from '#api/kinds.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { additiveProblems } from '#test/support/schema/additive.ts'
import { releasedObjects } from '#test/support/schema/released.ts'

const released = releasedObjects('0.1.0/crds.yaml')
const present = KINDS.map((kind) => crdOf(kind) as unknown as KubeObject)

/** Of components of type OS, and of SSH in the template of a MachineSet, which 0.1.0 had as values and refused; and of a pod of `verify`, which it had not. */
const OF_REFUSED =
  /^noderemediers\.kubenode\.io v1alpha1\.spec\.ladder\[\]\.verify: it has the new rule !has\(self\.script\) \|\| !has\(self\.pod\)$|^machinecomponents\.kubenode\.io v1alpha1\.spec: it has the new rule .*(self\.type == 'OS'|self\.os\b)|^machinesets\.kubenode\.io v1alpha1\.spec\.template\.spec(: it has the new rule has\(self\.ssh\)|\.ssh[.:])/

test('the kinds of 0.1.0 have every field, value and version that they were released with, and accept no less', () =>
  expect(additiveProblems(released, present).filter((p) => !OF_REFUSED.test(p))).toEqual([]))

type Part = Record<string, unknown>

/** The part of the definition of machines at this path, which a test may edit. */
function partOf(definition: Part, path: string): Part {
  let at: unknown = definition
  for (const key of path.split('/')) at = isObject(at) || Array.isArray(at) ? (at as Part)[key] : undefined
  if (!isObject(at)) throw new Error(`the definition has no ${path}`)
  return at
}

const VERSION = 'spec/versions/0'
const SPEC = `${VERSION}/schema/openAPIV3Schema/properties/spec`
const POOL = `${SPEC}/properties/pool`
const CHANNEL = `${SPEC}/properties/channel`
const TAINTS = `${SPEC}/properties/taints`

/** What `edit` makes of the released definition of machines. */
function problemsAfter(path: string, edit: (part: Part) => void): readonly string[] {
  const all = structuredClone(released) as unknown as (Part & KubeObject)[]
  const machines = all.find((d) => d.metadata.name === 'machines.kubenode.io')
  if (machines === undefined) throw new Error('0.1.0 had machines')
  edit(partOf(machines, path))
  return additiveProblems(released, all)
}

const withNew = (part: Part, key: string, value: unknown): void => void (part[key] = value)
const listIn = (part: Part, key: string): unknown[] => (Array.isArray(part[key]) ? (part[key] as unknown[]) : [])

describe('a change that breaks a user of the released kind is found', () => {
  test.each<[string, string, (part: Part) => void, RegExp]>([
    ['a field removed', `${SPEC}/properties`, (p) => void delete p['pool'], /spec\.pool: the field is gone/],
    ['a type changed', POOL, (p) => withNew(p, 'type', 'integer'), /spec\.pool: its type changed/],
    [
      'a value of an enum removed',
      CHANNEL,
      (p) => void listIn(p, 'enum').pop(),
      /spec\.channel: the value ".+" is gone/,
    ],
    ['an enum where any text was', POOL, (p) => withNew(p, 'enum', ['a']), /spec\.pool: it has an enum/],
    [
      'a new field that is required',
      SPEC,
      (p) => withNew(p, 'required', [...listIn(p, 'required'), 'row']),
      /spec\.row: it is required/,
    ],
    [
      'an old field that is required',
      SPEC,
      (p) => withNew(p, 'required', [...listIn(p, 'required'), 'pool']),
      /spec\.pool: it is required/,
    ],
    ['a shorter text', POOL, (p) => withNew(p, 'maxLength', 3), /spec\.pool: its maxLength fell/],
    ['a longer text demanded', POOL, (p) => withNew(p, 'minLength', 30), /spec\.pool: its minLength rose/],
    ['fewer items', TAINTS, (p) => withNew(p, 'maxItems', 1), /spec\.taints: its maxItems fell/],
    ['another pattern', POOL, (p) => withNew(p, 'pattern', '^a$'), /spec\.pool: its pattern changed/],
    ['another default', CHANNEL, (p) => withNew(p, 'default', 'Other'), /spec\.channel: its default changed/],
    [
      'another way to merge',
      TAINTS,
      (p) => withNew(p, 'x-kubernetes-list-type', 'set'),
      /spec\.taints: its x-kubernetes-list-type changed/,
    ],
    [
      'a field of items removed',
      `${TAINTS}/items/properties`,
      (p) => void delete p['key'],
      /spec\.taints\[\]\.key: the field is gone/,
    ],
    [
      'a new rule',
      SPEC,
      (p) => withNew(p, 'x-kubernetes-validations', [{ rule: 'has(self.pool)' }]),
      /spec: it has the new rule has\(self\.pool\)/,
    ],
    ['a version removed', 'spec', (p) => withNew(p, 'versions', []), /v1alpha1: the version is gone/],
    ['a version not served', VERSION, (p) => withNew(p, 'served', false), /v1alpha1: it is served no longer/],
    [
      'objects stored in another version',
      VERSION,
      (p) => withNew(p, 'storage', false),
      /whether objects are stored in it changed/,
    ],
    ['no status', `${VERSION}/subresources`, (p) => void delete p['status'], /the subresource status changed/],
    ['another scope', 'spec', (p) => withNew(p, 'scope', 'Namespaced'), /its scope changed/],
    ['another plural', 'spec/names', (p) => withNew(p, 'plural', 'hosts'), /its plural changed/],
    ['a short name removed', 'spec/names', (p) => withNew(p, 'shortNames', []), /the short name \w+ is gone/],
  ])('%s', (_, path, edit, problem) => {
    const found = problemsAfter(path, edit)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(problem)
  })

  test('a kind removed', () =>
    expect(additiveProblems(released, released.slice(1))).toEqual([
      `${released[0]?.metadata.name}: the definition is gone`,
    ]))
})

describe('a change that only adds is none', () => {
  test.each<[string, string, (part: Part) => void]>([
    ['a field', `${SPEC}/properties`, (p) => withNew(p, 'row', { type: 'string', maxLength: 9 })],
    ['a value of an enum', CHANNEL, (p) => void listIn(p, 'enum').push('New')],
    ['a longer text', POOL, (p) => withNew(p, 'maxLength', 1_000)],
    ['a bound less', TAINTS, (p) => void delete p['maxItems']],
    ['other words', POOL, (p) => withNew(p, 'description', 'Other words.')],
    ['a version', 'spec', (p) => void listIn(p, 'versions').push({ name: 'v1', served: true, storage: false })],
    [
      'a column',
      VERSION,
      (p) => void listIn(p, 'additionalPrinterColumns').push({ name: 'Row', type: 'string', jsonPath: '.spec.row' }),
    ],
  ])('%s', (_, path, edit) => expect(problemsAfter(path, edit)).toEqual([]))

  const union = (end: string, ...names: readonly string[]) => [
    { rule: `${names.map((name) => `(has(self.${name}) ? 1 : 0)`).join(' + ')} ${end}` },
  ]
  const widened = (before: readonly Part[], after: readonly Part[]) => {
    const kinds = [before, after].map((rules) => {
      const all = structuredClone(released) as unknown as (Part & KubeObject)[]
      const machines = all.find((d) => d.metadata.name === 'machines.kubenode.io')
      if (machines === undefined) throw new Error('0.1.0 had machines')
      withNew(partOf(machines, SPEC), 'x-kubernetes-validations', rules)
      return all
    })
    return additiveProblems(kinds[0] ?? [], kinds[1] ?? [])
  }

  test('a union with a new member, but not with a field that anyone could set before', () => {
    const before = union('== 1', 'zone', 'rack')
    expect(widened(before, union('== 1', 'zone', 'row', 'rack'))).toEqual([])
    expect(widened(before, union('== 1', 'zone', 'rack', 'pool'))).toHaveLength(1)
    expect(widened(before, union('== 1', 'zone', 'row'))).toHaveLength(1)
    expect(widened(before, union('<= 1', 'zone', 'row', 'rack'))).toHaveLength(1)
    expect(widened(before, [{ rule: 'has(self.zone)' }])).toHaveLength(1)
  })

  test('a rule that is a part of one before, but not one that refuses more', () => {
    const before = [{ rule: "self.pool == 'a' || (!has(self.zone) && !has(self.rack))" }]
    const of = (...rules: readonly string[]) =>
      widened(
        before,
        rules.map((rule) => ({ rule })),
      )
    expect(of("self.pool == 'a' || !has(self.zone)", "self.pool == 'a' || !has(self.rack)")).toEqual([])
    expect(of("self.pool == 'a' || !has(self.row)")).toHaveLength(1)
    expect(of('!has(self.zone)')).toHaveLength(1)
    expect(widened([{ rule: 'a || (b || c && d)' }], [{ rule: 'a || d' }])).toHaveLength(1)
    expect(widened([{ rule: '(a || (b) && (c))' }], [{ rule: '(a || (b)' }])).toHaveLength(1)
  })

  test('a required field with a default, which the server fills in', () =>
    expect(
      problemsAfter(SPEC, (p) => {
        withNew(partOf(p, 'properties'), 'row', { type: 'string', default: '' })
        withNew(p, 'required', [...listIn(p, 'required'), 'row'])
      }),
    ).toEqual([]))
})
