import { expect, test } from 'vitest'
import { inParallel } from './pool.ts'

const turn = () => new Promise<void>((done) => setImmediate(done))

test('every item once, in order of their start, and never more at once than allowed', async () => {
  const begun: number[] = []
  let running = 0
  let most = 0
  await inParallel(new Set([1, 2, 3, 4, 5, 6, 7]), 3, async (n) => {
    begun.push(n)
    most = Math.max(most, ++running)
    await turn()
    running--
  })
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(most).toBe(3)
})

test('after a failure nothing is begun, what has begun ends, and the failure is thrown', async () => {
  const ended: number[] = []
  const run = inParallel([1, 2, 3, 4], 2, async (n) => {
    if (n === 1) throw new Error('no')
    await turn()
    ended.push(n)
  })
  await expect(run).rejects.toThrow('no')
  expect(ended).toEqual([2])
})

test('nothing to do', async () =>
  expect(await inParallel([], 4, () => Promise.reject(new Error('never')))).toBeUndefined())
