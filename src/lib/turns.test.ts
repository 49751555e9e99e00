import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

test('as many run at once as may, the others in their order, and one that gives up leaves no gap', async () => {
  const turns = new Turns(2)
  const done: string[] = []
  let [running, most] = [0, 0]
  const ends = new Map<string, () => void>()
  const work = (name: string) => () =>
    new Promise<void>((resolve) => {
      most = Math.max(most, ++running)
      ends.set(name, () => {
        running--
        done.push(name)
        resolve()
      })
    })
  const giveUp = new AbortController()
  const all = ['a', 'b', 'c'].map((n) => turns.take(work(n)))
  const left = turns.take(work('given up'), giveUp.signal)
  all.push(turns.take(work('d')))
  giveUp.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  for (const name of ['b', 'a', 'd', 'c']) {
    for (let i = 0; !ends.has(name) && i < 100; i++) await Promise.resolve()
    ends.get(name)?.()
  }
  await Promise.all(all)
  expect([done, most, ends.has('given up')]).toEqual([['b', 'a', 'd', 'c'], 2, false])
})

test('work that fails gives its turn back', async () => {
  const turns = new Turns(1)
  await expect(turns.take(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await turns.take(async () => 1)).toBe(1)
})
