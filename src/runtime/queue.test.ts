import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { URGENT_IN_A_ROW } from './waiting-keys.ts'
import { type QueueOptions, WorkQueue } from './queue.ts'

function setup(options: Partial<QueueOptions> = {}) {
  const clock = new VirtualClock()
  return { clock, queue: new WorkQueue({ clock, random: seededRandom(1), ...options }) }
}

function takeAll(queue: WorkQueue): string[] {
  const keys: string[] = []
  for (let key = queue.tryTake(); key !== undefined; key = queue.tryTake()) {
    keys.push(key)
    queue.done(key)
  }
  return keys
}

describe('adding', () => {
  test('a key added many times before it is taken is handed out once', () => {
    const { queue } = setup()
    expect([queue.add('a'), queue.add('a'), queue.add('b')]).toEqual(['Added', 'Merged', 'Added'])
    expect(takeAll(queue)).toEqual(['a', 'b'])
  })

  test('a key touched while in work is not handed out a second time until done, and then it is', () => {
    const { queue } = setup()
    queue.add('a')
    expect(queue.tryTake()).toBe('a')
    expect([queue.add('a'), queue.add('a')]).toEqual(['Added', 'Merged'])
    expect(queue.tryTake()).toBeUndefined()
    queue.done('a')
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('a key that is touched all the time goes behind the others', () => {
    const { queue } = setup()
    for (const key of ['hot', 'x', 'y']) queue.add(key)
    const order: string[] = []
    for (let i = 0; i < 5; i++) {
      const key = queue.tryTake() ?? ''
      order.push(key)
      queue.add('hot')
      queue.done(key)
    }
    expect(order).toEqual(['hot', 'x', 'y', 'hot', 'hot'])
  })

  test('keys beyond the capacity are refused, those known already are not', () => {
    const { queue } = setup({ capacity: 2 })
    expect([queue.add('a'), queue.addAfter('b', 10), queue.add('c'), queue.addAfter('d', 1)]).toEqual([
      'Added',
      'Added',
      'Full',
      'Full',
    ])
    expect([queue.add('a'), queue.add('b')]).toEqual(['Merged', 'Added'])
    expect(takeAll(queue)).toEqual(['a', 'b'])
  })

  test('done for a key that was not taken changes nothing', () => {
    const { queue } = setup()
    queue.add('a')
    queue.done('a')
    expect(takeAll(queue)).toEqual(['a'])
  })
})

describe('the urgent lane', () => {
  test('an urgent key goes first, also when it waited as a normal one', () => {
    const { queue } = setup()
    for (const key of ['a', 'b', 'c']) queue.add(key)
    queue.add('c', { urgent: true })
    queue.add('d', { urgent: true })
    expect(takeAll(queue)).toEqual(['c', 'd', 'a', 'b'])
  })

  test('a storm of urgent keys lets a normal key through after every few', () => {
    const { queue } = setup()
    queue.add('normal')
    for (let i = 0; i < 3 * URGENT_IN_A_ROW; i++) queue.add(`u${i}`, { urgent: true })
    expect(takeAll(queue).indexOf('normal')).toBe(URGENT_IN_A_ROW)
  })

  test('urgency of a touch during work is kept for the next turn', () => {
    const { queue } = setup()
    queue.add('a')
    queue.tryTake()
    queue.add('b')
    queue.add('a', { urgent: true })
    queue.done('a')
    expect(takeAll(queue)).toEqual(['a', 'b'])
  })
})

describe('delays', () => {
  test('a delayed key comes when due, not before', async () => {
    const { clock, queue } = setup()
    queue.addAfter('a', 100)
    await clock.advance(99)
    expect(queue.length).toBe(0)
    await clock.advance(1)
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('the earlier of two delays counts, and the key comes once', async () => {
    const { clock, queue } = setup()
    queue.addAfter('a', 100)
    queue.addAfter('a', 10)
    queue.addAfter('a', 50)
    await clock.advance(10)
    expect(takeAll(queue)).toEqual(['a'])
    await clock.advance(1_000)
    expect(takeAll(queue)).toEqual([])
  })

  test('F16 a jump of the wall clock moves no delay', async () => {
    const { clock, queue } = setup()
    queue.addAfter('a', 100)
    clock.jumpWall(7_200_000)
    await clock.advance(99)
    expect(queue.length).toBe(0)
    clock.jumpWall(-2 * 7_200_000)
    await clock.advance(1)
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('ten thousand delayed keys are armed with one timer', () => {
    const clock = new VirtualClock()
    let armed = 0
    const counting = {
      monotonic: () => clock.monotonic(),
      after: (ms: number, fn: () => void) => (armed++, clock.after(ms, fn)),
    }
    const queue = new WorkQueue({ clock: counting, random: seededRandom(1) })
    for (let i = 0; i < 10_000; i++) queue.addAfter(`k${i}`, 100 + i)
    expect(armed).toBe(1)
  })
})

describe('backoff', () => {
  test('the delay doubles per failure of that key, stays under the cap, and starts again after forget', async () => {
    const { queue, clock } = setup({ backoff: { baseMs: 10, capMs: 100 } })
    const delays: number[] = []
    for (let n = 0; n < 6; n++) {
      delays.push(queue.addRateLimited('a'))
      await clock.advance(100)
    }
    const full = [10, 20, 40, 80, 100, 100]
    for (const [i, delay] of delays.entries()) {
      expect(delay).toBeLessThanOrEqual(full[i] ?? 0)
      expect(delay).toBeGreaterThanOrEqual(0.75 * (full[i] ?? 0))
    }
    expect(queue.addRateLimited('b')).toBeLessThanOrEqual(10)
    expect(queue.failures('a')).toBe(6)
    queue.forget('a')
    expect(queue.failures('a')).toBe(0)
    expect(queue.addRateLimited('a')).toBeLessThanOrEqual(10)
  })

  test('tries that events bring before the retry is due earn no longer wait', async () => {
    const { queue, clock } = setup({ backoff: { baseMs: 1_000, capMs: 300_000 } })
    const first = queue.addRateLimited('a')
    await clock.advance(500)
    for (let n = 0; n < 20; n++) expect(queue.addRateLimited('a')).toBe(first - 500)
    expect([queue.failures('a'), queue.length]).toEqual([1, 0])
    await clock.advance(500)
    expect(queue.length).toBe(1)
  })

  test('a retry that is due while timers are late is never tried again at once', () => {
    let now = 0
    const late = {
      now: () => now,
      monotonic: () => now,
      after: () => ({ cancel: () => undefined }),
      sleep: async () => undefined,
    }
    const { queue } = setup({ clock: late })
    queue.addRateLimited('a')
    now = 60_000
    expect(queue.addRateLimited('a')).toBeGreaterThan(0)
    expect(queue.tryTake()).toBeUndefined()
  })

  test('keys that failed together do not come back together', () => {
    const { queue } = setup({ backoff: { baseMs: 1_000, capMs: 10_000 } })
    const delays = new Set(Array.from({ length: 50 }, (_, i) => queue.addRateLimited(`k${i}`)))
    expect(delays.size).toBe(50)
  })

  test('remembered failures are bounded', () => {
    const { queue } = setup({ capacity: 2 })
    for (const key of ['a', 'b', 'c']) queue.addRateLimited(key)
    expect(['a', 'b', 'c'].map((key) => queue.failures(key))).toEqual([0, 1, 1])
  })
})

describe('waiting for a key', () => {
  test('takers are served in the order in which they came', async () => {
    const { queue } = setup()
    const first = queue.take()
    const second = queue.take()
    queue.add('a')
    queue.add('b')
    expect(await Promise.all([first, second])).toEqual(['a', 'b'])
  })

  test('an aborted taker gets nothing and loses no key', async () => {
    const { queue } = setup()
    const abort = new AbortController()
    const taken = queue.take(abort.signal)
    abort.abort()
    expect(await taken).toBeUndefined()
    queue.add('a')
    expect(await queue.take()).toBe('a')
  })
})

describe('shutdown', () => {
  test('waiting keys are still handed out, delayed ones dropped, new ones refused', async () => {
    const { clock, queue } = setup()
    queue.add('a')
    queue.addAfter('later', 10)
    queue.shutDown()
    expect(queue.add('b')).toBe('ShutDown')
    expect(await queue.take()).toBe('a')
    queue.done('a')
    expect(await queue.take()).toBeUndefined()
    await clock.advance(100)
    expect(queue.length).toBe(0)
  })

  test('drained waits for what is in work', async () => {
    const { queue } = setup()
    queue.add('a')
    queue.tryTake()
    queue.add('b')
    queue.shutDown({ discard: true })
    let isDrained = false
    const drained = queue.drained().then(() => (isDrained = true))
    await Promise.resolve()
    expect(isDrained).toBe(false)
    queue.done('a')
    await drained
    expect(queue.length).toBe(0)
  })

  test('takers that wait are let go', async () => {
    const { queue } = setup()
    const taken = queue.take()
    queue.shutDown()
    expect(await taken).toBeUndefined()
  })
})

type Step =
  | { readonly do: 'add' | 'urgent' | 'fail' | 'forget'; readonly key: string }
  | { readonly do: 'after'; readonly key: string; readonly ms: number }
  | { readonly do: 'take' | 'done' }
  | { readonly do: 'wait'; readonly ms: number }

const key = fc.constantFrom('a', 'b', 'c', 'd')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('add' as const, 'urgent' as const, 'fail' as const, 'forget' as const), key }),
  fc.record({ do: fc.constant('after' as const), key, ms: fc.nat(50) }),
  fc.record({ do: fc.constantFrom('take' as const, 'done' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.nat(40) }),
)

test('whatever is done, no key is worked on twice at once and every touch is looked at afterwards', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { clock, queue } = setup({ backoff: { baseMs: 1, capMs: 20 } })
      const inWork: string[] = []
      const unseen = new Set<string>()
      const take = () => {
        const taken = queue.tryTake()
        if (taken === undefined) return false
        expect(inWork).not.toContain(taken)
        inWork.push(taken)
        unseen.delete(taken)
        return true
      }
      const touch = (touched: string) => void unseen.add(touched)
      for (const s of steps) {
        if (s.do === 'add') touch((queue.add(s.key), s.key))
        else if (s.do === 'urgent') touch((queue.add(s.key, { urgent: true }), s.key))
        else if (s.do === 'fail') touch((queue.addRateLimited(s.key), s.key))
        else if (s.do === 'after') touch((queue.addAfter(s.key, s.ms), s.key))
        else if (s.do === 'forget') queue.forget(s.key)
        else if (s.do === 'take') take()
        else if (s.do === 'wait') await clock.advance(s.ms)
        else queue.done(inWork.shift() ?? 'none')
      }
      await clock.advance(100)
      while (inWork.length > 0 || take()) {
        queue.done(inWork.shift() ?? 'none')
        await clock.advance(100)
      }
      expect([...unseen]).toEqual([])
      expect([queue.length, queue.processing, queue.delayed]).toEqual([0, 0, 0])
    }),
    { numRuns: 150 },
  )
})
