// node:assert for a fleet. Node's own version reads source files to write its messages.
import { isDeepStrictEqual } from 'node:util'
import { show } from './shown.ts'

class AssertionError extends Error {
  readonly code = 'ERR_ASSERTION'
  readonly actual: unknown
  readonly expected: unknown

  constructor({ message, actual, expected }: { message?: string; actual?: unknown; expected?: unknown }) {
    super(message ?? 'Failed')
    this.name = 'AssertionError'
    this.actual = actual
    this.expected = expected
  }
}

type Message = string | Error | undefined

function check(holds: unknown, message: Message, otherwise: () => string, values: object = {}): void {
  if (holds) return
  if (message instanceof Error) throw message
  throw new AssertionError({ message: message ?? otherwise(), ...values })
}

type Compare = (actual: unknown, expected: unknown, message?: Message) => void

const compare =
  (same: (a: unknown, b: unknown) => boolean, wanted: string): Compare =>
  (actual, expected, message) =>
    check(same(actual, expected), message, () => `${show(actual)} ${wanted} ${show(expected)}`, { actual, expected })

const is = Object.is
// oxlint-disable-next-line eqeqeq -- what assert.equal does
const isLike = (a: unknown, b: unknown): boolean => a == b || (is(a, Number.NaN) && is(b, Number.NaN))
const isOther = (a: unknown, b: unknown): boolean => !is(a, b)
const deepStrictEqual = compare(isDeepStrictEqual, 'is not deeply equal to')
const notDeepStrictEqual = compare((a, b) => !isDeepStrictEqual(a, b), 'is deeply equal to')
const strictEqual = compare(is, 'is not')
const notStrictEqual = compare(isOther, 'is')

function throws(run: () => unknown, wanted?: unknown, message?: Message): void {
  let thrown: unknown
  try {
    run()
  } catch (error) {
    thrown = error
    if (wanted instanceof RegExp)
      check(wanted.test(String(error)), message, () => `${show(error)} is not like ${wanted}`)
    else if (typeof wanted === 'function')
      check(error instanceof wanted, message, () => `${show(error)} is no ${wanted.name}`)
    return
  }
  check(thrown, typeof wanted === 'string' ? wanted : message, () => 'Missing expected exception.')
}

export function assertions(isStrict: boolean): object {
  const ok = (value?: unknown, message?: Message): void => check(value, message, () => `${show(value)} is not true`)
  const like = (text: string, pattern: RegExp, message?: Message): void =>
    check(pattern.test(text), message, () => `${show(text)} does not match ${pattern}`)
  const unlike = (text: string, pattern: RegExp, message?: Message): void =>
    check(!pattern.test(text), message, () => `${show(text)} matches ${pattern}`)
  const deep = isStrict ? { deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual } : {}
  const self = (value?: unknown, message?: Message): void => ok(value, message)
  return Object.assign(self, {
    ok,
    equal: isStrict ? strictEqual : compare(isLike, 'is not equal to'),
    notEqual: isStrict ? notStrictEqual : compare((a, b) => !isLike(a, b), 'is equal to'),
    strictEqual,
    notStrictEqual,
    deepStrictEqual,
    notDeepStrictEqual,
    ...deep,
    match: like,
    doesNotMatch: unlike,
    throws,
    AssertionError,
    fail: (message?: Message) => check(false, message, () => 'Failed'),
  })
}
