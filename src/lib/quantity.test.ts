import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalQuantity, parseQuantity, quantityValue } from './quantity.ts'

test.each([
  ['0.5', '500m'],
  ['1024Ki', '1Mi'],
  ['1e9', '1e9'],
  ['2', '2'],
  [2, '2'],
  ['1000m', '1'],
  ['1.5Gi', '1536Mi'],
  ['100Ki', '100Ki'],
  ['0.5Ki', '512'],
  ['1000', '1k'],
  ['1E', '1E'],
  ['1E3', '1e3'],
  ['-1', '-1'],
  ['+5', '5'],
  ['.5', '500m'],
  ['5.', '5'],
  ['0.0000000001', '1n'],
  ['0Gi', '0'],
])('%s is stored as %s', (text, want) => expect(canonicalQuantity(text)).toBe(want))

test.each(['', 'lots', '1 Gi', '1gi', '--1', '1.2.3', '1e', 'Gi', '.', '1e99999', null, {}, true, '9'.repeat(200)])(
  '%j is no quantity',
  (text) => expect(parseQuantity(text)).toBeUndefined(),
)

test('canonical text means the same value and is its own canonical text', () => {
  const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'n')
  fc.assert(
    fc.property(fc.integer({ min: -1e6, max: 1e6 }), suffix, (n, s) => {
      const once = canonicalQuantity(`${n}${s}`) ?? ''
      expect(parseQuantity(once)?.nanos).toBe(parseQuantity(`${n}${s}`)?.nanos)
      expect(canonicalQuantity(once)).toBe(once)
    }),
  )
})

test('values compare across suffixes', () => {
  expect(quantityValue('1Gi')).toBe(1_073_741_824)
  expect(quantityValue('250m')).toBe(0.25)
})
