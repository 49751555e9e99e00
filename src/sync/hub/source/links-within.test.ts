import { expect, test } from 'vitest'
import { wholeRange } from '../../trust/history.ts'
import { linksWithin } from './links-within.ts'

const WHO = 't <t@example.org> 1700000000 +0000'
const id = (n: number): string => n.toString(16).padStart(40, '0')
/** Commit n follows n - 1. */
const reader = (message: string) => ({
  asked: 0,
  commitBytes(of: string): Buffer {
    this.asked++
    const n = Number.parseInt(of, 16)
    const parent = n === 0 ? '' : `parent ${id(n - 1)}\n`
    return Buffer.from(`tree ${id(1)}\n${parent}author ${WHO}\ncommitter ${WHO}\n\n${message}\n`)
  },
})

test('a walk over commits ends with its bytes, and others have their turn while it reads', async () => {
  const long = reader('m'.repeat(100_000))
  let hadTurn = false
  setImmediate(() => {
    hadTurn = true
  })
  await expect(wholeRange(id(1), id(5_000), linksWithin(long, 2_000_000), 5_000)).rejects.toThrow(
    /more than 2000000 bytes/,
  )
  expect(long.asked).toBe(20)
  expect(hadTurn).toBe(true)
  const short = reader('m')
  const range = await wholeRange(id(1), id(3_000), linksWithin(short, 2_000_000), 5_000)
  expect(range).toMatchObject({ kind: 'Range', commits: { length: 2_999 } })
})
