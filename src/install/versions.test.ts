import { expect, test } from 'vitest'
import { isOlder, isWithinSkew, skipProblem } from './versions.ts'

test.each([
  ['1.2.0', '1.2.3', undefined],
  ['1.2.0', '1.3.0', undefined],
  ['1.3.0', '1.2.9', undefined],
  ['0.1.0-dev', '0.1.0', undefined],
  ['0.1.0', '0.1.0-dev', undefined],
  ['1.2.0', '1.4.0', /2 minor versions apart/],
  ['1.4.0', '1.2.0', /2 minor versions apart/],
  ['1.9.0', '2.0.0', /major version/],
  ['main', 'main', undefined],
  ['main', '1.0.0', /no version/],
])('from %s to %s', (from, to, problem) => {
  if (problem === undefined) expect(skipProblem(from, to)).toBeUndefined()
  else expect(skipProblem(from, to)).toMatch(problem)
})

test('versions are compared by number, not as text, and what is none is not older', () => {
  expect(isOlder('1.9.0', '1.10.0')).toBe(true)
  expect(isOlder('1.10.0', '1.9.9')).toBe(false)
  expect([isOlder('0.1.0-dev', '0.1.0'), isOlder('0.1.0', '0.1.0-dev')]).toEqual([true, false])
  expect(isOlder('main', '1.0.0')).toBe(false)
})

test('agents work with programs two minor versions apart; an unreadable version is unknown', () => {
  const of = (agent: string) => isWithinSkew(agent, '1.5.0')
  expect([of('1.3.9'), of('1.7.0'), of('1.2.0'), of('1.8.0'), of('2.5.0'), of('dev')]).toEqual([
    true,
    true,
    false,
    false,
    false,
    undefined,
  ])
})
