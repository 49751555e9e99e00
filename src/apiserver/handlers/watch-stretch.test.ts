import { expect, test } from 'vitest'
import { Stretches } from './watch-stretch.ts'

const stretch = (bytes: number, to = 1) => ({ chunk: Buffer.alloc(bytes), to })

test('the bytes of one watcher are reused for the next at the same place', () => {
  const resource = {}
  const told = stretch(10)
  Stretches.of(resource).keep('7 object', told)
  expect(Stretches.of(resource).get('7 object')).toBe(told)
  expect(Stretches.of(resource).get('7 PartialObjectMetadata')).toBeUndefined()
  expect(Stretches.of({}).get('7 object')).toBeUndefined()
})

test('the oldest go before they are more than a bound, and one that is larger by itself is not kept', () => {
  const stretches = Stretches.of({})
  for (let i = 0; i < 40; i++) stretches.keep(String(i), stretch(64 * 1024, i))
  expect(stretches.get('0')).toBeUndefined()
  expect(stretches.get('39')?.to).toBe(39)
  expect(Array.from({ length: 40 }, (_, i) => stretches.get(String(i))).filter((s) => s !== undefined)).toHaveLength(32)
  stretches.keep('large', stretch(3 * 1024 * 1024))
  expect(stretches.get('large')).toBeUndefined()
  stretches.keep('after', stretch(1))
  expect(stretches.get('after')).toBeDefined()
})
