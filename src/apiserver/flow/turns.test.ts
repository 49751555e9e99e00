// Work is done one piece at a time, measured until it must wait, and the loop turns after a slice.
import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

function bench(works: (() => Promise<void> | void)[]) {
  let now = 0
  const read: (() => void)[] = []
  const spent: number[] = []
  const turns: Turns = new Turns({
    now: () => now,
    afterReading: (fn) => void read.push(fn),
    next: () => {
      const work = works.shift()
      if (work === undefined) return false
      turns.begin((ms) => spent.push(ms))
      void work()
      return true
    },
  })
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0))
  return {
    turns,
    spent,
    spend: (ms: number) => void (now += ms),
    read: () => read.splice(0).forEach((fn) => fn()),
    settle,
  }
}

test('what runs on in microtasks is counted, what waits for the disk is not', async () => {
  const works: (() => Promise<void>)[] = []
  const { turns, spent, spend, settle } = bench(works)
  works.push(async () => {
    spend(1)
    await Promise.resolve()
    spend(2)
    await new Promise((resolve) => setImmediate(resolve))
    spend(4)
  })
  turns.go()
  await settle()
  expect(spent).toEqual([3])
})

test('after a slice nothing begins until others were read', async () => {
  const works: (() => void)[] = []
  const { turns, spent, spend, read, settle } = bench(works)
  for (let i = 0; i < 6; i++) works.push(() => spend(3))
  turns.go()
  await settle()
  expect([spent.length, turns.isFree]).toEqual([3, false])
  read()
  await settle()
  expect(spent.length).toBe(6)
})

test('one piece after the other: the second begins when the first has to wait', async () => {
  const order: string[] = []
  const works: (() => Promise<void>)[] = ['a', 'b'].map((who) => async () => {
    order.push(`${who} begins`)
    await Promise.resolve()
    order.push(`${who} waits`)
  })
  const { turns, settle } = bench(works)
  turns.go()
  expect(turns.isFree).toBe(false)
  await settle()
  expect(order).toEqual(['a begins', 'a waits', 'b begins', 'b waits'])
})
