import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_LOG_BYTES, MAX_RESULT_BYTES, linesOfResult, resultIn } from './log-lines.ts'

const RUN = '0123456789abcdef'
const bytes = fc.uint8Array({ maxLength: 30_000 }).map((b) => Buffer.from(b))
/** Lines of other programs: none starts like a line of a result. */
const stray = fc.string().map((text) => `${text.replaceAll('\n', ' ').replaceAll('kubenode-render', '')}\n`)

const written = (result: Buffer): readonly string[] => [...linesOfResult(RUN, result)]

test('a result is found again among other lines, whatever its bytes', () => {
  fc.assert(
    fc.property(bytes, fc.array(stray, { maxLength: 20 }), (result, others) => {
      const lines = written(result)
      const log = [...others.slice(0, 10), ...lines.slice(0, 2), ...others.slice(10), ...lines.slice(2)].join('')
      expect(resultIn(RUN, log)).toEqual({ kind: 'Whole', result })
    }),
  )
})

test('a log that lacks any of its lines, at its start, its end or between, has no result', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.nat(), (result, from, count) => {
      const lines = written(result)
      const at = from % lines.length
      const kept = lines.toSpliced(at, 1 + (count % (lines.length - at)))
      expect(resultIn(RUN, kept.join('')).kind).not.toBe('Whole')
    }),
  )
})

test('a log that is cut at any byte has no result', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.boolean(), (result, cut, isHead) => {
      const log = written(result).join('')
      // The last newline carries no information.
      const at = cut % (log.length - 1)
      const rest = isHead ? log.slice(0, at) : log.slice(at + 1)
      expect(resultIn(RUN, rest).kind).not.toBe('Whole')
    }),
  )
})

test('lines of a result in another order, changed, or of another run are no result', () => {
  const lines = written(Buffer.alloc(20_000, 7))
  const [begin = '', first = '', second = '', ...rest] = lines
  expect(resultIn(RUN, [begin, second, first, ...rest].join('')).kind).toBe('Damaged')
  expect(resultIn(RUN, [begin, first, first, second, ...rest].join('')).kind).toBe('Cut')
  expect(resultIn(RUN, [begin, first.replace('BwcH', 'BwcI'), second, ...rest].join('')).kind).toBe('Damaged')
  expect(resultIn('f'.repeat(16), lines.join('')).kind).toBe('Nothing')
  expect(resultIn(RUN, '').kind).toBe('Nothing')
})

test('an impossible length is refused before anything is joined', () => {
  const log = `kubenode-render ${RUN} begin 999999999 ${'a'.repeat(64)}\nkubenode-render ${RUN} end\n`
  expect(resultIn(RUN, log).kind).toBe('Damaged')
})

test('the largest result fits into what is read of a log, and that into the smallest file of a kubelet', () => {
  const lines = written(Buffer.alloc(MAX_RESULT_BYTES, 1))
  const sent = lines.reduce((n, line) => n + line.length, 0)
  expect(sent).toBeLessThan(MAX_LOG_BYTES)
  // A kubelet puts a time, a stream and a tag in front of each line.
  const TAG = '2026-11-21T17:00:00.000000000Z stdout F '.length
  expect(sent + lines.length * TAG).toBeLessThan(10 * 1024 * 1024)
  // Container runtimes split longer lines.
  expect(Math.max(...lines.map((l) => l.length))).toBeLessThan(16 * 1024)
})
