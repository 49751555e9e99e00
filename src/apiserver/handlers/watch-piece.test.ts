import { expect, test } from 'vitest'
import { contentOf } from './watch-line.ts'
import { Piece } from './watch-piece.ts'

const line = (text: string): Buffer => Buffer.from(`${text}\n`)
const following = (lines: readonly Buffer[]): Piece => {
  const [first, ...rest] = lines
  if (first === undefined) throw new Error('a piece has a line')
  return rest.reduce((piece, l) => piece.and(l), Piece.of(first))
}

test('watchers of the same changes write the very same bytes', () => {
  const lines = ['a', 'b', 'c'].map(line)
  expect(following(lines).chunk).toBe(following(lines).chunk)
})

test('a watcher that gets fewer changes than another writes its own, in order', () => {
  const [a, b, c] = ['a', 'b', 'c'].map(line) as [Buffer, Buffer, Buffer]
  const pieces = [[a, b, c], [a, c], [b, c], [a], [a, b], [a, c]].map((l) => following(l).chunk)
  expect(pieces.map((p) => contentOf(p).toString())).toEqual([
    'a\nb\nc\n',
    'a\nc\n',
    'b\nc\n',
    'a\n',
    'a\nb\n',
    'a\nc\n',
  ])
  expect(pieces[1]).toBe(pieces[5])
})

test('a piece is one chunk of the answer, and knows how long what it says is', () => {
  const piece = following([line('one'), line('three')])
  expect(piece.bytes).toBe(10)
  expect(piece.chunk.toString()).toBe('a\r\none\nthree\n\r\n')
})
