import { describe, expect, test } from 'vitest'
import { SeededScheduler, forSeeds, seeds } from './scheduler.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Three tasks of three turns each, with a sleep; answers the order. */
async function interleaving(seed: number) {
  const clock = new VirtualClock()
  const scheduler = new SeededScheduler(seed, clock)
  const order: string[] = []
  const task = async (name: string) => {
    for (let i = 0; i < 3; i++) {
      await scheduler.turn(name, `${name}${i}`)
      order.push(`${name}${i}`)
      await clock.sleep(5)
    }
  }
  const tasks = Promise.all(['a', 'b', 'c'].map(task))
  await scheduler.run({ forMs: 10_000 })
  await tasks
  return { order: order.join(' '), digest: scheduler.digest() }
}

describe('order', () => {
  test('O9 the same seed gives the same run, byte for byte', async () => {
    for (const seed of seeds(20)) expect(await interleaving(seed)).toEqual(await interleaving(seed))
  })

  test('different seeds give different orders', async () => {
    const orders = new Set<string>()
    for (const seed of seeds(50)) orders.add((await interleaving(seed)).order)
    expect(orders.size).toBeGreaterThan(40)
  })

  test('each task keeps its own order', async () => {
    for (const seed of seeds(20)) {
      const { order } = await interleaving(seed)
      for (const name of ['a', 'b', 'c'])
        expect(order.split(' ').filter((o) => o.startsWith(name))).toEqual([`${name}0`, `${name}1`, `${name}2`])
    }
  })
})

describe('processes', () => {
  function two() {
    const clock = new VirtualClock()
    const scheduler = new SeededScheduler(1, clock)
    const ran: string[] = []
    for (const owner of ['a', 'b']) void scheduler.turn(owner, owner).then(() => ran.push(owner))
    return { scheduler, ran }
  }

  test('a held one gets no turn until it is released', async () => {
    const { scheduler, ran } = two()
    scheduler.hold('a')
    await scheduler.run({ forMs: 100 })
    expect(ran).toEqual(['b'])
    scheduler.release('a')
    await scheduler.run({ forMs: 100 })
    expect(ran).toEqual(['b', 'a'])
  })

  test('a dropped one never gets its turn', async () => {
    const { scheduler, ran } = two()
    scheduler.drop('a')
    await scheduler.run({ forMs: 100 })
    expect(ran).toEqual(['b'])
  })
})

describe('limits', () => {
  test.each([
    ['Time', { forMs: 100 }],
    ['Steps', { forMs: Infinity, mostSteps: 50 }],
    ['Until', { forMs: 1_000, until: () => true }],
  ] as const)('what never ends is stopped by %s', async (end, limits) => {
    const clock = new VirtualClock()
    const beat = () => void clock.after(10, beat)
    beat()
    expect(await new SeededScheduler(1, clock).run(limits)).toBe(end)
  })

  test('a run that finds nothing to do lets its time pass', async () => {
    const clock = new VirtualClock()
    expect(await new SeededScheduler(1, clock).run({ forMs: 500 })).toBe('Idle')
    expect(clock.monotonic()).toBe(500)
  })
})

test('a failing seed is named', async () => {
  const failing = forSeeds(seeds(10), async (seed) => {
    if (seed === 7) throw new Error('broken')
  })
  await expect(failing).rejects.toThrow('seed 7: broken')
})

test('one seed alone can be asked for', () => {
  expect([seeds(3, 5), seeds(3, 1, '42'), seeds(3, 1, '7-9')]).toEqual([[5, 6, 7], [42], [7, 8, 9]])
})
