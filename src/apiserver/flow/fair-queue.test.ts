import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue, type QueueBounds, type Seat } from './fair-queue.ts'
import { Usage } from './usage.ts'

const bounds = (b: Partial<QueueBounds> = {}): QueueBounds => ({
  seats: 2,
  seatsPerFlow: 2,
  longestWaitMs: 1_000,
  ...b,
})

const stays = () => false
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Alone, without counting turns of the loop: every free seat is assigned at once, and each costs its client `cost`. */
function queueOf(b: QueueBounds, now: () => number, cost: (flow: string) => number = () => 1) {
  const usage = new Usage()
  const work = (flow: string): void => {
    usage.began(flow)
    usage.charge(flow, cost(flow))
  }
  const queue: FairQueue = new FairQueue(b, {
    now,
    usage,
    onChange: () => {
      while (queue.seatNext()) continue
    },
    onSeat: work,
  })
  const trySit = (flow: string): Seat | undefined => {
    const seat = queue.trySit(flow)
    if (seat !== undefined) work(flow)
    return seat
  }
  return { queue, trySit }
}

/** Which clients got a seat, in order; the test releases seats. */
function room(b: Partial<QueueBounds>, now = () => 0, cost?: (flow: string) => number) {
  const { queue, trySit } = queueOf(bounds(b), now, cost)
  const order: string[] = []
  const refused: string[] = []
  const seats: Seat[] = []
  const come = (flow: string, who = flow, isGone = stays): void => {
    const seat = trySit(flow)
    if (seat !== undefined) {
      order.push(who)
      seats.push(seat)
      return
    }
    void queue.wait(flow, isGone).then((s) => {
      if (s === undefined) return refused.push(who)
      order.push(who)
      return seats.push(s)
    })
  }
  return { queue, order, refused, seats, come }
}

describe('seats', () => {
  test('clients that wait take turns, however many requests one of them has', async () => {
    const { order, seats, come } = room({ seats: 1, seatsPerFlow: 1 })
    for (let i = 0; i < 5; i++) come('a', `a${i}`)
    come('b', 'b0')
    come('c', 'c0')
    come('b', 'b1')
    for (let i = 0; i < 8; i++) {
      seats[i]?.()
      await settled()
    }
    expect(order).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4'])
  })

  test('S24 the client that used less comes first: one long request weighs as much as many short ones', async () => {
    const { order, seats, come } = room({ seats: 1, seatsPerFlow: 1 }, undefined, (flow) => (flow === 'long' ? 3 : 1))
    for (let i = 0; i < 3; i++) come('long', `long${i}`)
    for (let i = 0; i < 6; i++) come('short', `short${i}`)
    for (let i = 0; i < 9; i++) {
      seats[i]?.()
      await settled()
    }
    expect(order.slice(0, 8)).toEqual(['long0', 'short0', 'short1', 'short2', 'long1', 'short3', 'short4', 'short5'])
  })

  test('no flow saves up by being idle', async () => {
    const { order, seats, come } = room({ seats: 1, seatsPerFlow: 1 })
    for (let i = 0; i < 6; i++) come('busy', `busy${i}`)
    for (let i = 0; i < 4; i++) {
      seats[i]?.()
      await settled()
    }
    for (let i = 0; i < 2; i++) come('late', `late${i}`)
    for (let i = 4; i < 8; i++) {
      seats[i]?.()
      await settled()
    }
    // one turn ahead at most, not by the four unused ones
    expect(order.slice(4)).toEqual(['busy4', 'late0', 'busy5', 'late1'])
  })

  test('one client never takes them all', () => {
    const { queue, order, come } = room({ seats: 3, seatsPerFlow: 2 })
    for (let i = 0; i < 9; i++) come('a', `a${i}`)
    come('b')
    expect(order).toEqual(['a0', 'a1', 'b'])
    expect(queue.waiting).toBe(7)
  })

  test('who is gone takes no seat', async () => {
    const { queue, order, seats, come } = room({ seats: 1 })
    come('a')
    come('b', 'gone', () => true)
    come('b', 'here')
    seats[0]?.()
    await settled()
    expect(order).toEqual(['a', 'here'])
    expect(queue.waiting).toBe(0)
  })

  test('who waited too long is refused', async () => {
    let now = 0
    const { order, refused, seats, come } = room({ seats: 1 }, () => now)
    come('a')
    come('a', 'late')
    now = 1_001
    seats[0]?.()
    await settled()
    expect(order).toEqual(['a'])
    expect(refused).toEqual(['late'])
  })

  test('a seat that is given back twice is one seat', () => {
    const { queue, seats, come } = room({})
    come('a')
    come('b')
    seats[0]?.()
    seats[0]?.()
    expect(queue.seated).toBe(1)
  })
})

test('whatever comes and goes: bounds hold, each flow is served in order, none is passed by twice', async () => {
  const step = fc.oneof(
    fc.record({ come: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ leave: fc.nat({ max: 7 }) }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, seats, seatsPerFlow) => {
        const { queue, trySit } = queueOf(bounds({ seats, seatsPerFlow }), () => 0)
        const taken: { readonly flow: string; readonly seat: Seat }[] = []
        const waiting: { readonly flow: string; readonly n: number; passed: Map<string, number> }[] = []
        const served = new Map<string, number>()
        let n = 0
        const sit = (flow: string, mine: number, seat: Seat): void => {
          expect(served.get(flow) ?? -1).toBeLessThan(mine)
          served.set(flow, mine)
          taken.push({ flow, seat })
        }
        for (const s of steps) {
          if ('come' in s) {
            const flow = s.come
            const mine = n++
            const seat = trySit(flow)
            if (seat !== undefined) sit(flow, mine, seat)
            else {
              const me = { flow, n: mine, passed: new Map<string, number>() }
              waiting.push(me)
              void queue.wait(flow, stays).then((given) => {
                waiting.splice(waiting.indexOf(me), 1)
                const isBlocked = (f: string) => taken.filter((t) => t.flow === f).length >= seatsPerFlow
                const firsts = new Map(waiting.toReversed().map((w) => [w.flow, w]))
                for (const [other, w] of firsts) {
                  if (other === flow || isBlocked(other)) continue
                  w.passed.set(flow, (w.passed.get(flow) ?? 0) + 1)
                  expect(w.passed.get(flow), `${other} waits while ${flow} is served again`).toBeLessThan(3)
                }
                return given === undefined ? undefined : sit(flow, mine, given)
              })
            }
          } else {
            const [left] = taken.splice(s.leave % Math.max(1, taken.length), 1)
            left?.seat()
          }
          await settled()
          expect(queue.seated).toBe(taken.length)
          expect(queue.waiting).toBe(waiting.length)
          expect(queue.seated).toBeLessThanOrEqual(seats)
          for (const f of 'abcd') expect(taken.filter((t) => t.flow === f).length).toBeLessThanOrEqual(seatsPerFlow)
          // no seat stays free while a request waits that could have it
          const couldSit = waiting.some((w) => taken.filter((t) => t.flow === w.flow).length < seatsPerFlow)
          if (queue.seated < seats) expect(couldSit).toBe(false)
        }
      },
    ),
    { numRuns: 150 },
  )
})
