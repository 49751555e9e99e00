import { expect, test } from 'vitest'
import { colorOf } from './version.ts'

test.each([
  ['1.1.0', '1.2.0'],
  ['1.1.0', '1.1.1'],
  ['1.9.0', '2.0.0'],
  ['1.6.20u1', '1.6.20u2'],
])('%s and %s have different colors, each always its own', (a, b) => {
  expect(colorOf(a)).toBe(colorOf(a))
  expect(colorOf(a)).not.toBe(colorOf(b))
})
