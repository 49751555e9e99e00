import { expect, test } from 'vitest'
import { ReadPool, type SessionReads } from './read-pool.ts'

const MB = 2 ** 20
const textOf = (bytes: number): Buffer => Buffer.alloc(bytes, 'x')
/** How many files of half a megabyte it may hold. */
const filled = (session: SessionReads, most = 200): number => {
  for (let n = 0; n < most; n++) if (!session.hold(`/${n}`, textOf(MB / 2))) return n
  return most
}

test('hosts that send without end share one pool, and one that sends little has its own', () => {
  const pool = new ReadPool()
  const greedy = Array.from({ length: 24 }, () => pool.session())
  const held = greedy.map((session) => filled(session))
  // A character may take two bytes: 2 MB each of its own, and 32 MB together.
  expect(held).toEqual([34, ...Array.from({ length: 23 }, () => 2)])
  expect(filled(pool.session(), 2)).toBe(2)
  greedy[0]?.release()
  expect(filled(pool.session())).toBe(34)
})

test('a file that is read again counts once, with its new length', () => {
  const session = new ReadPool().session()
  for (let n = 0; n < 100; n++) expect(session.hold('/a', textOf(MB))).toBe(true)
  expect(filled(session)).toBe(32)
  expect(session.hold('/a', textOf(1))).toBe(true)
  expect(session.hold('/b', textOf(MB / 2))).toBe(true)
})

test('lists of lists count as what they take once they are parsed', () => {
  const session = new ReadPool().session()
  expect(session.hold('/a', Buffer.from('[],'.repeat(300_000)))).toBe(true)
  expect(session.hold('/b', Buffer.from('[],'.repeat(300_000)))).toBe(false)
  expect(session.hold('/b', textOf(MB))).toBe(true)
})
