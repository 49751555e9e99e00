import { expect, test } from 'vitest'
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Served } from '../registry/served.ts'
import { KnownDefinitions } from './known-definitions.ts'

const problem = { field: 'spec' } as unknown as FieldError

function counted(problems: readonly FieldError[], resource = 'apiextensions.k8s.io/customresourcedefinitions') {
  let checks = 0
  const validate = () => {
    checks++
    return problems
  }
  const served = { resource, behaviour: { validate } } as unknown as Served
  return { served, checks: () => checks }
}
const definition = (more: object = {}, spec: object = { group: 'a.b' }): KubeObject =>
  ({ metadata: { name: 'a', ...more }, spec, status: { storedVersions: ['v1'] } }) as unknown as KubeObject
const check = (served: Served, o: KubeObject, old?: KubeObject) => served.behaviour.validate(o, old, undefined as never)

test('the same new definition is checked once for all servers, and any other by itself', () => {
  const known = new KnownDefinitions()
  const [one, two] = [counted([]), counted([])]
  const [first, second] = [known.checkedOnce(one.served), known.checkedOnce(two.served)]
  check(first, definition())
  check(second, definition({ uid: 'another', resourceVersion: '7' }))
  expect([one.checks(), two.checks()]).toEqual([1, 0])
  check(second, definition({}, { group: 'c.d' }))
  check(second, definition({ annotations: { x: 'y' } }))
  check(second, { ...definition(), status: { storedVersions: ['v2'] } })
  expect(two.checks()).toBe(3)
})

test('one with problems is refused each time, and one that replaces another is always judged', () => {
  const known = new KnownDefinitions()
  const wrong = counted([problem])
  const served = known.checkedOnce(wrong.served)
  expect([check(served, definition()), check(served, definition())]).toEqual([[problem], [problem]])
  const right = counted([])
  const sound = known.checkedOnce(right.served)
  check(sound, definition())
  check(sound, definition(), definition())
  expect(right.checks()).toBe(2)
})

test('other kinds stay as they are', () => {
  const { served } = counted([], '/configmaps')
  expect(new KnownDefinitions().checkedOnce(served)).toBe(served)
})
