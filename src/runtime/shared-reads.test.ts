import { expect, test } from 'vitest'
import { SharedReads } from './shared-reads.ts'

/** Returns how many reads had begun; each ends when the test says so. */
function slowReads() {
  const begun: { readonly end: (fail?: Error) => void }[] = []
  const reads = new SharedReads<number>(() => {
    const n = begun.length + 1
    return new Promise((resolve, reject) => {
      begun.push({ end: (fail) => (fail === undefined ? resolve(n) : reject(fail)) })
    })
  })
  return { reads, begun }
}

const turnsOver = () => new Promise((done) => setImmediate(done))

test('who asks while a read is under way gets the next one, for that one may be older than the question', async () => {
  const { reads, begun } = slowReads()
  const first = reads.of('a')
  const second = reads.of('a')
  const third = reads.of('a')
  expect(begun.length).toBe(1)
  begun[0]?.end()
  expect(await first).toBe(1)
  await turnsOver()
  expect(begun.length).toBe(2)
  begun[1]?.end()
  expect(await Promise.all([second, third])).toEqual([2, 2])
})

test('each question is answered by a read that began after it, however many ask', async () => {
  const { reads, begun } = slowReads()
  const answers: Promise<void>[] = []
  for (let round = 0; round < 5; round++) {
    for (let asker = 0; asker < 3; asker++) {
      const already = begun.length
      answers.push(reads.of('a').then((n) => expect(n).toBeGreaterThan(already)))
    }
    begun.at(-1)?.end()
    await turnsOver()
  }
  begun.at(-1)?.end()
  await Promise.all(answers)
  expect(begun.length).toBe(6)
})

test('a read that failed fails those who shared it and no other', async () => {
  const { reads, begun } = slowReads()
  const first = reads.of('a')
  const second = reads.of('a')
  begun[0]?.end(new Error('gone'))
  await expect(first).rejects.toThrow('gone')
  await turnsOver()
  begun[1]?.end()
  expect(await second).toBe(2)
})

test('other things are read beside it, and nothing is kept once all have their answer', async () => {
  const { reads, begun } = slowReads()
  const [a, b] = [reads.of('a'), reads.of('b')]
  expect(begun.length).toBe(2)
  for (const read of begun) read.end()
  await Promise.all([a, b])
  await turnsOver()
  const again = reads.of('a')
  begun[2]?.end()
  expect(await again).toBe(3)
})

test('a reader that is aborted does not wait, and the others still get their answer', async () => {
  const { reads, begun } = slowReads()
  const stop = new AbortController()
  const first = reads.of('a', stop.signal)
  const second = reads.of('a')
  stop.abort(new Error('deadline'))
  await expect(first).rejects.toThrow('deadline')
  await expect(reads.of('a', stop.signal)).rejects.toThrow('deadline')
  begun[0]?.end()
  await turnsOver()
  begun[1]?.end()
  expect(await second).toBe(2)
})
