import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

/** Work that runs until `end` names it. */
function workshop() {
  const [begun, done]: [string[], string[]] = [[], []]
  const ends = new Map<string, () => void>()
  let [running, most] = [0, 0]
  const work = (name: string) => () =>
    new Promise<void>((resolve) => {
      begun.push(name)
      most = Math.max(most, ++running)
      ends.set(name, () => {
        running--
        done.push(name)
        resolve()
      })
    })
  const end = async (name: string): Promise<void> => {
    for (let i = 0; !ends.has(name) && i < 100; i++) await Promise.resolve()
    ends.get(name)?.()
  }
  return { begun, done, work, end, most: () => most }
}

const what = 'reads'

test('as many run at once as may, the others in their order, and one that gives up leaves no gap', async () => {
  const semaphore = new Semaphore(2, { what })
  const { begun, done, work, end, most } = workshop()
  const giveUp = new AbortController()
  const all = ['a', 'b', 'c'].map((n) => semaphore.run(work(n)))
  const left = semaphore.run(work('given up'), giveUp.signal)
  all.push(semaphore.run(work('d')))
  giveUp.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  for (const name of ['b', 'a', 'd', 'c']) await end(name)
  await Promise.all(all)
  expect([begun, done, most()]).toEqual([['a', 'b', 'c', 'd'], ['b', 'a', 'd', 'c'], 2])
})

test('work that fails gives its turn back, whether it throws or rejects', async () => {
  const semaphore = new Semaphore(1, { what })
  const failing = [
    () => Promise.reject(new Error('no')),
    () => {
      throw new Error('no')
    },
  ]
  for (const work of failing) await expect(semaphore.run(work)).rejects.toThrow('no')
  expect(await semaphore.run(async () => 1)).toBe(1)
})

test('a signal ends the wait and not the work, and one that was aborted before asks for nothing', async () => {
  const semaphore = new Semaphore(1, { what })
  const stop = new AbortController()
  const { work, end, done, begun } = workshop()
  const running = semaphore.run(work('a'), stop.signal)
  stop.abort(new Error('stop'))
  await expect(semaphore.run(work('b'), stop.signal)).rejects.toThrow('stop')
  await end('a')
  await running
  expect([begun, done]).toEqual([['a'], ['a']])
})

test('too many in line are refused with what they wait for, and the line goes on', async () => {
  const semaphore = new Semaphore(1, { what, mostWaiting: 2 })
  const { work, end, done } = workshop()
  const all = ['a', 'b', 'c'].map((n) => semaphore.run(work(n)))
  await expect(semaphore.run(work('d'))).rejects.toThrow('KN1044: too many reads at once: 2 are waiting')
  for (const name of ['a', 'b', 'c']) await end(name)
  await Promise.all(all)
  expect(done).toEqual(['a', 'b', 'c'])
  const own = new Semaphore(1, { what, mostWaiting: 0, full: () => new Error('come back later') })
  const held = await own.acquire()
  await expect(own.acquire()).rejects.toThrow('come back later')
  held()
})

test('a turn that is released twice is one turn', async () => {
  const semaphore = new Semaphore(1, { what })
  const release = await semaphore.acquire()
  release()
  release()
  await semaphore.acquire()
  const second = semaphore.acquire()
  const order: string[] = []
  void second.then(() => order.push('second'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual([])
})
