import { expect, test } from 'vitest'
import { defined } from './defined.ts'
import { KeyedLock } from './keyed-lock.ts'

const lock = (mostWaiting?: number) => new KeyedLock({ what: 'changes', ...defined({ mostWaiting }) })

/** Ends when `end` is called. */
function open() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { work: () => promise, end: resolve }
}

test('work of one key runs in the order in which it came, and that of others does not wait for it', async () => {
  const locks = lock()
  const order: string[] = []
  const first = open()
  const all = [
    locks.run('a', async () => {
      await first.work()
      order.push('a1')
    }),
    ...['a2', 'a3'].map((name) => locks.run('a', async () => void order.push(name))),
    locks.run('b', async () => void order.push('b1')),
  ]
  await all[3]
  expect(order).toEqual(['b1'])
  first.end()
  await Promise.all(all)
  expect(order).toEqual(['b1', 'a1', 'a2', 'a3'])
})

test('work that fails does not stop the next, and fails for its caller alone', async () => {
  const locks = lock()
  const failed = locks.run('a', () => Promise.reject(new Error('no')))
  const next = locks.run('a', async () => 2)
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe(2)
})

test('one that gives up leaves no gap', async () => {
  const locks = lock()
  const first = open()
  const giveUp = new AbortController()
  const running = locks.run('a', first.work)
  const left = locks.run('a', async () => 'never', giveUp.signal)
  const last = locks.run('a', async () => 'last')
  giveUp.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  first.end()
  await running
  expect(await last).toBe('last')
})

test('too many for one key are refused, those of other keys are not', async () => {
  const locks = lock(1)
  const first = open()
  const running = [locks.run('a', first.work), locks.run('a', async () => undefined)]
  await expect(locks.run('a', async () => undefined)).rejects.toThrow('KN1044: too many changes at once: 1 are waiting')
  expect(await locks.run('b', async () => 1)).toBe(1)
  first.end()
  await Promise.all(running)
})

test('a key without work is forgotten, however its work ended', async () => {
  const locks = lock()
  const all = [
    locks.run('a', async () => 1),
    locks.run('a', () => Promise.reject(new Error('no'))),
    locks.run('b', async () => 1),
  ]
  expect(locks.size).toBe(2)
  await Promise.allSettled(all)
  expect(locks.size).toBe(0)
})
