// The oracle is cdk8s itself: the single walk gives exactly the same bytes.
import { ApiObject, App, Chart, JsonPatch, Lazy, type IResolver } from 'cdk8s'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainJsonOf } from './plain-json.ts'

const objectWith = (props: object, app = new App()): ApiObject =>
  new ApiObject(new Chart(app, 'c', { namespace: 'n', labels: { chart: 'c' } }), 'o', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...props,
  })

const key = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('10', '9', 'a', 'value', 'name'))
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, Number.NaN),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any

test('plain objects are written as cdk8s writes them, in the same order of fields', () => {
  const fields = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true })
  let written = 0
  fc.assert(
    fc.property(fields, fields, fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }), (rest, more, finalizers) => {
      const { metadata: _, apiVersion: __, kind: ___, ...props } = rest
      const object = objectWith({ ...props, metadata: { name: 'o', finalizers } })
      for (const [name, extra] of Object.entries(more)) object.metadata.add(name, extra)
      const made = plainJsonOf(object)
      if (made === undefined) return
      written++
      expect(JSON.stringify(made)).toBe(JSON.stringify(object.toJson()))
    }),
    { numRuns: 500 },
  )
  // Most generated values are plain, so the comparison really happened.
  expect(written).toBeGreaterThan(100)
})

class Size {
  readonly value = 5
}

describe('left to cdk8s', () => {
  const cases: Readonly<Record<string, () => ApiObject>> = {
    'a token that is produced late': () => objectWith({ data: { a: Lazy.any({ produce: () => 'late' }) } }),
    'an object that resolves itself': () => objectWith({ data: { a: { resolve: () => 'mine' } } }),
    'a value of a class': () => objectWith({ data: { a: new Size() } }),
    'a date': () => objectWith({ data: { a: new Date(0) } }),
    'a number that JSON does not have': () => objectWith({ data: { a: Number.POSITIVE_INFINITY } }),
    'a hole in a list': () => objectWith({ data: [1, null] }),
    'a field named constructor': () => objectWith({ data: { constructor: 'x' } }),
    'an App with a resolver of the user': () => {
      const resolver: IResolver = { resolve: (context) => context.value === 'a' && context.replaceValue('b') }
      return objectWith({ data: { a: 'a' } }, new App({ resolvers: [resolver] }))
    },
    'an object with a patch': () => {
      const object = objectWith({ data: { a: 'a' } })
      object.addJsonPatch(JsonPatch.add('/data/b', 'b'))
      return object
    },
    'an object nested in itself': () => {
      const round: Record<string, unknown> = {}
      round['round'] = round
      return objectWith({ data: round })
    },
  }
  test.each(Object.entries(cases))('%s', (_, make) => expect(plainJsonOf(make())).toBeUndefined())
})

test('changes after the constructor are written', () => {
  const object = objectWith({ data: { a: 'a' } })
  object.metadata.addLabel('late', 'yes')
  object.metadata.addAnnotation('why', 'test')
  expect(plainJsonOf(object)).toEqual(object.toJson())
  expect(plainJsonOf(object)).toMatchObject({
    metadata: { labels: { chart: 'c', late: 'yes' }, annotations: { why: 'test' }, namespace: 'n' },
  })
})
