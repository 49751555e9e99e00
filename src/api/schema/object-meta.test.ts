import { expect, test } from 'vitest'
import { keyText, nameOf, namespacedName, objectKey } from './object-meta.ts'

test.each([
  [{ name: 'a', namespace: 'n' }, 'a', { name: 'a', namespace: 'n' }, 'n/a'],
  [{ name: 'a' }, 'a', { name: 'a' }, 'a'],
  [{ name: 'a', namespace: '' }, 'a', { name: 'a', namespace: '' }, 'a'],
  [{}, '', { name: '' }, ''],
])('%j', (metadata, name, key, text) => {
  expect([nameOf({ metadata }), objectKey({ metadata }), namespacedName({ metadata })]).toEqual([name, key, text])
  expect(keyText(objectKey({ metadata }))).toBe(text)
})
