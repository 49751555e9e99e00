// A cage's answer is read line by line: its allowed content, its limits, and how much is parsed before other work gets a turn.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { atOnce } from '#lib/slices.ts'
import { MAX_FIELDS, MAX_FIELDS_IN_ALL, MAX_LINE_BYTES, MAX_LINES } from './answer-lines.ts'
import { answered, answering } from './answered.ts'
import { NO_PLACES } from './places.ts'
import { findingProblems } from './problems.ts'
import { isOfTheFleet } from './render.ts'
import type { CagedEnd } from './run-caged.ts'
import { syncErrors } from '../sync-errors.ts'

afterEach(() => vi.restoreAllMocks())

/** As it arrives through a pipe: split anywhere. */
function endOf(text: string, pieceBytes = 65_536): CagedEnd {
  const bytes = Buffer.from(text)
  const pieces = Math.ceil(bytes.length / pieceBytes)
  const chunks = Array.from({ length: pieces }, (_, i) => bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes))
  return { kind: 'Answered', chunks, printed: '' }
}
const textOf = (lines: readonly unknown[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
const whole = (...lines: readonly unknown[]): string => textOf([...lines, { end: lines.length }])
const read = (text: string, pieceBytes?: number) => answered(endOf(text, pieceBytes), 'render commit c0ffee').answer

function refusalOf(text: string): KubeNodeError {
  try {
    read(text)
  } catch (error) {
    if (error instanceof KubeNodeError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('the lines of an answer', () => {
  test.each([1, 3, 7, 65_536])('are read whichever way the pipe cuts them: %i bytes', (pieceBytes) => {
    const { clusters, error } = read(
      whole({ target: 'a' }, { object: { text: 'ü\n€' } }, { object: 2 }, { target: 'b' }),
      pieceBytes,
    )
    expect([...clusters]).toEqual([
      ['a', [{ text: 'ü\n€' }, 2]],
      ['b', []],
    ])
    expect(error).toBeUndefined()
  })

  test('hold what modules export, each by its path', () => {
    const { modules } = read(whole({ module: '__proto__', loaded: { exports: 1 } }, { module: 'b', loaded: {} }))
    expect([...modules]).toEqual([
      ['__proto__', { exports: 1 }],
      ['b', {}],
    ])
  })

  test('end with an error where it fails, also after objects', () => {
    expect(read(textOf([{ target: 'a' }, { object: {} }, { error: { message: 'no' } }])).error).toEqual({
      message: 'no',
    })
  })

  test.each([
    ['nothing', ''],
    ['text', 'hello\n'],
    ['a list', '[]\n'],
    ['a line without meaning', whole({})],
    ['an object before its cluster', whole({ object: {} })],
    ['a cluster that is no text', whole({ target: 1 })],
    ['a module that is no text', whole({ module: {} })],
    ['no end', textOf([{ target: 'a' }])],
    ['an end in the middle of a line', whole({ target: 'a' }).slice(0, -1)],
    ['an end that counts wrong', textOf([{ target: 'a' }, { end: 2 }])],
    ['lines after the end', `${whole({ target: 'a' })}{"target":"b"}\n`],
    ['lines after the error', `{"error":{}}\n{"end":1}\n`],
  ])('are refused where there is %s', (_, text) => {
    expect(refusalOf(text).message).toMatch(/^KN7105: cannot render commit c0ffee: /)
  })
})

describe('S28 what may not be in an answer', () => {
  test('a cluster twice is refused: reviewers and sync could each believe another one', () => {
    const refused = refusalOf(whole({ target: 'a' }, { object: { kind: 'x' } }, { target: 'b' }, { target: 'a' }))
    expect(refused.message).toMatch(/^KN7105: cannot render commit c0ffee: .*the cluster a twice/)
  })

  test('a module twice is refused', () => {
    expect(refusalOf(whole({ module: 'a', loaded: {} }, { module: 'a', loaded: {} })).code).toBe('KN7105')
  })

  test('a line that is too long is refused before it is put together', () => {
    const line = `{"object":"${'x'.repeat(MAX_LINE_BYTES)}"}`
    expect(refusalOf(`{"target":"a"}\n${line}\n`).message).toMatch(
      /KN7114: .* object 1 of a has more than 8388608 bytes/,
    )
  })

  test('a line of too many fields is refused before it is parsed', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const fields = Array.from({ length: MAX_FIELDS + 2 }, (_, i) => `"k${i}":{}`)
    expect(refusalOf(`{"target":"a"}\n{"object":{${fields.join()}}}\n`).message).toMatch(
      /KN7114: .* object 1 of a has more than 100000 fields and list items/,
    )
    expect(parse).toHaveBeenCalledTimes(1)
  })

  test('an answer of too many fields in all is refused, however many objects share them', () => {
    const object = `{"object":{"x":[${Array.from({ length: 90_000 }, () => '{}').join()}]}}\n`
    const count = Math.ceil(MAX_FIELDS_IN_ALL / 90_000)
    expect(refusalOf(`{"target":"a"}\n${object.repeat(count + 1)}`).message).toMatch(
      /KN7114: .* its output has more than 4000000 fields and list items/,
    )
  })

  test('text full of commas has no fields', () => {
    const text = `\\",{[${',:{['.repeat(100_000)}`
    expect([...read(whole({ target: 'a' }, { object: { text } })).clusters.values()]).toEqual([[{ text }]])
  })

  test('more lines than anybody declares are refused', () => {
    const lines = `{"target":"a"}\n${'{"object":1}\n'.repeat(MAX_LINES)}`
    expect(refusalOf(lines).message).toMatch(/KN7114: .* its output has more than 1000000 lines/)
  })

  test.each([
    syncErrors.KN7109({ key: 'x', target: 'x', where: '' }),
    syncErrors.KN7105_line({ what: 'x', line: 1, problem: 'x' }),
    syncErrors.KN7114_count({ what: 'x', seen: 'x', limit: 1 }),
    syncErrors.KN7105_twice({ what: 'x', kind: 'x', name: 'x' }),
  ])('$code is the fault of the commit, which is not rendered again at once', (message) => {
    expect(isOfTheFleet(new KubeNodeError(message))).toBe(true)
  })
})

describe('S24 how much is parsed before others have a turn', () => {
  /** The largest number of characters passed to JSON.parse between two turns. */
  function longestWorkOf(steps: Generator<void, unknown>): number {
    const { parse } = JSON
    let [now, most] = [0, 0]
    vi.spyOn(JSON, 'parse').mockImplementation((part) => {
      most = Math.max(most, (now += part.length))
      return parse(part) as unknown
    })
    while (steps.next().done !== true) now = 0
    vi.restoreAllMocks()
    return most
  }
  const longestWork = (text: string): number => longestWorkOf(answering(endOf(text), 'render'))

  test('one line, however much the answer is', () => {
    const object = { object: { data: 'x'.repeat(2_000) } }
    const line = JSON.stringify(object).length
    for (const count of [10, 5_000])
      expect(longestWork(whole({ target: 'a' }, ...Array.from({ length: count }, () => object)))).toBe(line)
  })

  test('a million keys are as many lines, or refused', () => {
    const wide = `{"object":{${Array.from({ length: 100 }, (_, i) => `"key-${i}":1`).join()}}}`
    expect(longestWork(`{"target":"a"}\n${`${wide}\n`.repeat(10_000)}{"end":10001}\n`)).toBe(wide.length)
  })

  test('one file that may be a trust document, and none that agents do not fetch', () => {
    const file = (bytes: number) => JSON.stringify({ threshold: 'x'.repeat(bytes) })
    const files = Object.fromEntries([1, 2, 3, 4_000_000].map((bytes) => [`fleet/${bytes}.json`, file(bytes)]))
    expect(longestWorkOf(findingProblems(new Map(), files, NO_PLACES))).toBe(file(3).length)
  })

  test('what all at once gives is what slices give', () => {
    const text = whole({ target: 'a' }, { object: 1 })
    expect(atOnce(answering(endOf(text), 'render'))).toEqual(answered(endOf(text), 'render'))
  })
})
