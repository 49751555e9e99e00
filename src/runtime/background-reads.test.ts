// A reading that is under way is worth waiting for; one that hangs is not.
import { expect, test } from 'vitest'
import { BackgroundReads } from './background-reads.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

test('a reading is pending while it runs and nothing that still counts is known, and not for ever', async () => {
  let now = 0
  let answer = Promise.withResolvers<string>()
  const woken: string[] = []
  const reads = new BackgroundReads<string>({
    clock: { now: () => now },
    wake: (owner) => void woken.push(owner),
    failed: () => 'failed',
  })
  const owner = { name: 'r', uid: 'u' }
  const read = () => reads.read(owner, [{ key: 'k', take: () => answer.promise }]).get('k')?.value
  expect(reads.pending('u')).toEqual(new Set())
  expect(read()).toBeUndefined()
  expect(reads.pending('u')).toEqual(new Set(['k']))
  answer.resolve('a')
  await answer.promise
  await Promise.resolve()
  expect([read(), reads.pending('u')]).toEqual(['a', new Set()])

  // It is repeated while the last answer counts.
  answer = Promise.withResolvers<string>()
  now += MINUTE / 2
  expect([read(), reads.pending('u')]).toEqual(['a', new Set()])
  // The answer is too old now, and the next one is on its way for half a minute; a minute later it counts as hanging.
  now += MINUTE / 2
  expect([read(), reads.pending('u')]).toEqual([undefined, new Set(['k'])])
  now += MINUTE
  expect([read(), reads.pending('u')]).toEqual([undefined, new Set()])
  reads.stop()
})

test('after a pause of this program the first reading is pending again', async () => {
  let now = 0
  const reads = new BackgroundReads<string>({
    clock: { now: () => now },
    wake: () => undefined,
    failed: () => 'failed',
  })
  const read = () => reads.read({ name: 'r', uid: 'u' }, [{ key: 'k', take: async () => 'a' }]).get('k')?.value
  read()
  await Promise.resolve()
  await Promise.resolve()
  now += 60 * MINUTE
  expect([read(), reads.pending('u')]).toEqual([undefined, new Set(['k'])])
  reads.stop()
})

test('a reading is due at each look after the pause, however long its answer took', async () => {
  let now = 0
  const begun: number[] = []
  const reads = new BackgroundReads<string>({
    clock: { now: () => now },
    wake: () => undefined,
    failed: () => 'failed',
  })
  const take = async () => {
    begun.push(now)
    now += SECOND
    return 'a'
  }
  for (let look = 0; look < 3; look++) {
    now = look * BackgroundReads.againMs
    reads.read({ name: 'r', uid: 'u' }, [{ key: 'k', take }])
    await Promise.resolve()
    await Promise.resolve()
  }
  expect(begun).toEqual([0, BackgroundReads.againMs, 2 * BackgroundReads.againMs])
  reads.stop()
})
