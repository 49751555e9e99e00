import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CagedEnd } from '../run-caged.ts'
import { packEnd, packInput, unpackEnd, unpackInput } from './packed.ts'

const LIMITS = { deadlineMs: 1_000, maxAnswerBytes: 1 << 20, maxPrintedBytes: 1 << 10 }

test('a request comes out of its package as it went in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), async (files) => {
      const plain = { ...files }
      const request = { files: plain, entry: 'fleet/main.ts', release: '', now: 5, seed: 7 }
      const input = { run: 'r1', limits: LIMITS, request }
      expect(await unpackInput(await packInput(input))).toEqual(input)
    }),
    { numRuns: 50 },
  )
})

const ENDS: readonly CagedEnd[] = [
  { kind: 'Answered', chunks: [Buffer.from('{"a":1}\n'), Buffer.from('{"end":1}\n')], printed: 'x\ny' },
  { kind: 'Deadline', deadlineMs: 5, printed: '' },
  { kind: 'AnswerTooLarge', limit: 5, printed: '' },
  { kind: 'PrintedTooMuch', limit: 5, printed: 'y' },
  { kind: 'OutOfMemory', printed: '' },
  { kind: 'Ended', how: 'was ended by SIGTERM', printed: '' },
]

test.each(ENDS)('the end $kind comes out of its package as it went in', async (end) => {
  const out = await unpackEnd(await packEnd({ version: '1.2.3', end }), 1 << 20)
  const whole = end.kind === 'Answered' ? { ...end, chunks: [Buffer.concat(end.chunks)] } : end
  expect(out).toEqual({ version: '1.2.3', end: whole })
})

test('a package that unpacks to more than an answer may be is not unpacked', async () => {
  const end: CagedEnd = { kind: 'Answered', chunks: [Buffer.alloc(4 << 20)], printed: '' }
  const packed = await packEnd({ version: '1', end })
  expect(packed.length).toBeLessThan(10_000)
  expect(await unpackEnd(packed, 1 << 20)).toBe('unpacks to more than it may')
})

test.each([
  ['nothing', ''],
  ['no head', 'x'.repeat(100)],
  ['a head that is no JSON', 'x\n'],
  ['a head of an unknown kind', '{"version":"1","kind":"Superseded","printed":""}\n'],
  ['a head without a version', '{"kind":"OutOfMemory","printed":""}\n'],
  ['a head with a limit that is no number', '{"version":"1","kind":"AnswerTooLarge","limit":"9","printed":""}\n'],
  ['a head whose output is no text', '{"version":"1","kind":"OutOfMemory","printed":[]}\n'],
  ['a list as its head', '[]\n'],
])('a package with %s has no end', async (_, text) => {
  expect(typeof (await unpackEnd(gzipSync(Buffer.from(text)), 1 << 20))).toBe('string')
})

test('bytes of any kind are no package', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), async (bytes) => {
      expect(typeof (await unpackEnd(Buffer.from(bytes), 1 << 20))).toBe('string')
    }),
    { numRuns: 100 },
  )
})
