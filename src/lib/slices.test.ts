import { expect, test } from 'vitest'
import { atOnce, inSlices } from './slices.ts'

function* counting(to: number): Generator<void, number> {
  let sum = 0
  for (let i = 1; i <= to; i++) {
    sum += i
    yield
  }
  return sum
}

test('others have a turn between slices, and the result is the same', async () => {
  let turns = 0
  const other = setInterval(() => turns++, 0)
  expect(await inSlices(counting(2_000), 0)).toBe(atOnce(counting(2_000)))
  clearInterval(other)
  expect(turns).toBeGreaterThan(0)
})

test('a step that throws ends the work', async () => {
  function* failing(): Generator<void, number> {
    yield
    throw new Error('no')
  }
  await expect(inSlices(failing())).rejects.toThrow('no')
  expect(() => atOnce(failing())).toThrow('no')
})
