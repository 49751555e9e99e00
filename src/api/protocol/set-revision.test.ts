import { expect, test } from 'vitest'
import { readSetRevision, type RevisedComponent, writeSetRevision } from './set-revision.ts'

const record = (data: unknown, revision: unknown = 3) => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: 'base-1' },
  revision,
  ...(data !== undefined && { data }),
})

const WHOLE: readonly RevisedComponent[] = [
  { name: 'beacon', version: '1.0.0', values: { level: 'debug' }, secretRefs: [{ path: '/key', name: 's' }] } as never,
  { name: 'scribe', version: '2.0.0', sealed: [{ path: '/key', sealedIn: 'x' }] },
]

test('what was written is read back, with the very same components', () => {
  const read = readSetRevision({ ...record(undefined), ...writeSetRevision(7, WHOLE) })
  expect(read).toEqual({ name: 'base-1', number: 7, components: WHOLE })
  expect(read?.components).toBe(WHOLE)
})

test('a record without components is a revision without any', () => {
  expect(readSetRevision(record({ components: [] }))).toEqual({ name: 'base-1', number: 3, components: [] })
})

test.each([
  ['no data', undefined],
  ['data that is a text', 'beacon'],
  ['no components', {}],
  ['components that are no list', { components: { beacon: '1.0.0' } }],
  ['a component that is a text', { components: [...WHOLE, 'beacon'] }],
  ['a component without a name', { components: [...WHOLE, { version: '1.0.0' }] }],
  ['a component without a version', { components: [...WHOLE, { name: 'x' }] }],
  ['a version that is a number', { components: [{ name: 'x', version: 1 }] }],
  ['values that are a list', { components: [{ name: 'x', version: '1', values: [] }] }],
  ['a secret without a place', { components: [{ name: 'x', version: '1', secretRefs: [{}] }] }],
  ['a sealed value without a place', { components: [{ name: 'x', version: '1', sealed: ['x'] }] }],
])('%s: the record is not read at all, since a part of it would remove components from machines', (_, data) => {
  expect(readSetRevision(record(data))).toBeUndefined()
})

test('no record, and a record without a number', () => {
  expect(readSetRevision(undefined)).toBeUndefined()
  expect(readSetRevision(record({ components: [] }, 'third'))?.number).toBe(0)
})
