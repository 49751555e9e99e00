// Every reader of holds answers every case as the tables say.
import { describe, expect, test } from 'vitest'
import { FROZEN_FILE, MACHINES, STARTS, STOPS } from './answers.ts'
import { CASES, MACHINE_CASES } from './cases.ts'
import { frozenFileAnswers, machineAnswers, startAnswers, stopAnswers } from './readers.ts'

const row = (answers: object): string => Object.values(answers).join(' ')

describe('a hold that', () => {
  test.each(CASES)('$what: who is stopped by it, and what it lets start', (c) => {
    expect({ stops: row(stopAnswers(c)), starts: row(startAnswers(c)) }).toEqual({
      stops: STOPS[c.what],
      starts: STARTS[c.what],
    })
  })

  test.each(MACHINE_CASES)('$what: who leaves the machine alone', ({ what, target }) => {
    expect(row(machineAnswers(target))).toBe(MACHINES[what])
  })
})

test.each(['True', 'False', 'Unknown'] as const)(
  'a file on the node, condition Frozen %s: who leaves it alone',
  (status) => {
    expect(row(frozenFileAnswers(status))).toBe(FROZEN_FILE[status])
  },
)
