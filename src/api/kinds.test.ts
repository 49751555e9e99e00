import { describe, expect, test } from 'vitest'
import { KINDS } from './kinds.ts'
import { formatProblem } from './problem.ts'
import { createValidator } from './validate.ts'

const validator = createValidator()

describe.each(KINDS.map((k) => [k.kind, k] as const))('%s', (_, kind) => {
  test('has an example without problems', () =>
    expect(validator.problems(kind, kind.example).map(formatProblem)).toEqual([]))
})
