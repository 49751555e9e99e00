import fc from 'fast-check'
import { expect, test } from 'vitest'
import { piecesOf } from './send-answer.ts'

const PIECE_BYTES = 256 * 1024

test('whatever the parts are, the pieces are the same bytes, and all but the last are as large as a piece may be', () => {
  const size = fc.oneof(
    fc.nat({ max: 40 }),
    fc.integer({ min: PIECE_BYTES - 2, max: PIECE_BYTES + 2 }),
    fc.nat({ max: 3 * PIECE_BYTES }),
  )
  fc.assert(
    fc.property(fc.array(size, { maxLength: 12 }), (sizes) => {
      const parts = sizes.map((bytes, i) => Buffer.alloc(bytes, i))
      const pieces = [...piecesOf(parts)]
      expect(Buffer.concat(pieces).equals(Buffer.concat(parts))).toBe(true)
      expect(pieces.slice(0, -1).every((p) => p.length === PIECE_BYTES)).toBe(true)
      expect(pieces.every((p) => p.length > 0 && p.length <= PIECE_BYTES)).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('a part as large as a piece is not copied', () => {
  const part = Buffer.alloc(2 * PIECE_BYTES)
  expect([...piecesOf([part])].map((p) => p.buffer)).toEqual([part.buffer, part.buffer])
})
