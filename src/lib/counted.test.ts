import { expect, test } from 'vitest'
import { counted } from './counted.ts'

test('a count has its noun in the number that it is', () => {
  expect([0, 1, 2].map((n) => counted(n, 'machine'))).toEqual(['0 machines', '1 machine', '2 machines'])
  expect([1, 3].map((n) => counted(n, 'pod is left', 'pods are left'))).toEqual(['1 pod is left', '3 pods are left'])
})
