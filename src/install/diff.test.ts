import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { differences } from './diff.ts'

const object = (spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', ...metadata },
  spec,
})

test('fields that differ are named with both values; what a server counts is none', () => {
  const before = object({ replicas: 2, args: ['a'], gone: true }, { resourceVersion: '1', generation: 1 })
  const after = object({ replicas: 3, args: ['a', 'b'], empty: {} }, { resourceVersion: '9', generation: 4 })
  expect(differences(before, after)).toEqual([
    '  .spec.args[1]: (none) → "b"',
    '  .spec.empty: (none) → {}',
    '  .spec.gone: true → (none)',
    '  .spec.replicas: 2 → 3',
  ])
  expect(differences(before, before)).toEqual([])
})

test('long lists and values are cut', () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, 'x'.repeat(200)]))
  const lines = differences(object({}), object(many))
  expect(lines).toHaveLength(41)
  expect(Math.max(...lines.map((l) => l.length))).toBeLessThan(160)
})
