import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CutLine, linesOf, LineTooLong } from './lines.ts'

async function* chunked(text: string, sizes: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  let at = 0
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const out: string[] = []
  for await (const line of lines) out.push(line)
  return out
}

describe('lines of a stream', () => {
  it('are the same however the bytes were cut, also inside a character', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '节', '😀', ' '), maxLength: 8 })),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (lines, sizes) => {
          const text = lines.map((l) => `${l}\n`).join('')
          expect(await all(linesOf(chunked(text, sizes)))).toEqual(lines.filter((l) => l.trim() !== ''))
        },
      ),
      { numRuns: 200 },
    )
  })

  it('F7 a stream that ends inside a line is a lost connection, after all whole lines', async () => {
    const seen: string[] = []
    const read = async () => {
      for await (const line of linesOf(chunked('one\ntwo\n{"thr', [4]))) seen.push(line)
    }
    await expect(read()).rejects.toBeInstanceOf(CutLine)
    expect(seen).toEqual(['one', 'two'])
  })

  it('F7 a 64 MB line is refused as soon as it passes the limit, without being collected', async () => {
    let given = 0
    async function* endless(): AsyncGenerator<Buffer> {
      for (; given < 64; given++) yield Buffer.alloc(1024 * 1024, 120)
    }
    await expect(all(linesOf(endless()))).rejects.toBeInstanceOf(LineTooLong)
    expect(given).toBeLessThanOrEqual(16)
  })

  it('a line of exactly the limit passes and one byte more does not', async () => {
    expect(await all(linesOf(chunked(`${'x'.repeat(10)}\n`, [3]), 10))).toEqual(['xxxxxxxxxx'])
    await expect(all(linesOf(chunked(`${'x'.repeat(11)}\n`, [64]), 10))).rejects.toBeInstanceOf(LineTooLong)
  })
})
