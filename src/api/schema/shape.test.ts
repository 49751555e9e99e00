import { expect, test } from 'vitest'
import { objectShapeProblem } from './shape.ts'

const SCHEMA = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['node'],
      properties: {
        node: { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 3 } } },
        steps: { type: 'array', items: { type: 'integer' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        left: { type: 'string', nullable: true },
        any: { 'x-kubernetes-int-or-string': true },
      },
    },
    status: { type: 'object', properties: { phase: { type: 'string', enum: ['Done'] } } },
  },
} as const

const object = (spec: unknown, more: object = {}) => ({ metadata: { name: 'x' }, spec, ...more })

test.each([
  ['all that is there fits', object({ node: { name: 'n' }, steps: [1], labels: { a: 'b' }, any: 1 }), undefined],
  [
    'limits, words and fields of a newer version',
    object({ node: { name: 'long', new: [] } }, { status: { phase: 'New' } }),
    undefined,
  ],
  ['a null where one may be', object({ node: { name: 'n' }, left: null }), undefined],
  ['no object', 'text', 'it must be an object'],
  ['no metadata', { spec: { node: { name: 'n' } } }, 'metadata is missing'],
  ['a name that is no text', { metadata: { name: {} }, spec: {} }, 'metadata.name must be a text'],
  [
    'labels that are no texts',
    { metadata: { labels: { a: 1 } }, spec: { node: { name: '' } } },
    'metadata.labels.a must be a text',
  ],
  ['no spec', { metadata: {} }, 'spec is missing'],
  ['a null for an object', object(null), 'spec must be an object'],
  ['a list for an object', object([]), 'spec must be an object'],
  ['an item of a list', object({ node: { name: 'n' }, steps: [1, '2'] }), 'spec.steps[1] must be a number'],
  ['a name from the prototype', object(Object.create({ node: { name: 'n' } })), 'spec.node is missing'],
])('%s', (_, value, problem) => expect(objectShapeProblem(SCHEMA, value)).toBe(problem))
