import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerIn, oneLine } from './answers.ts'
import { hostScript } from './script.ts'

const line = (kubenode: string, name = '', value = '') => `${JSON.stringify({ kubenode, name, value })}\n`

describe('what a host answers', () => {
  test('is facts, a failure and an end; a greeting is none of it', () => {
    const answer = answerIn(`Welcome\n${line('fact', 'kernel', '6.1.0')}{"a":1}\n${line('done')}`)
    expect([[...answer.facts], answer.failed, answer.isDone]).toEqual([[['kernel', '6.1.0']], undefined, true])
    expect(answerIn(line('failed', 'Full', 'no space')).failed).toEqual({ failure: 'Full', why: 'no space' })
  })

  test('is complete behind a greeting without an end of its line', () => {
    const script = hostScript('fact kernel 6.1.0')
    const out = execFileSync('/bin/sh', ['-c', 'printf Welcome; exec sh -s'], { input: script, encoding: 'utf8' })
    expect([...answerIn(out).facts]).toEqual([['kernel', '6.1.0']])
  })

  test.each([
    ['a line that is cut off', '{"kubenode":"done"'],
    ['another shape', '{"kubenode":["done"]}\n{"kubenode":"fact","name":7,"value":"x"}'],
    ['a name that is a path', line('fact', '../../etc', 'x')],
    ['a name of an object', line('fact', '__proto__', 'x')],
    ['a failure that only ssh can report', line('failed', 'HostKeyChanged', 'x')],
  ])('is nothing with %s', (_, text) => {
    expect(answerIn(text)).toEqual({ facts: new Map(), failed: undefined, isDone: false })
  })

  test('the first failure counts', () => {
    expect(answerIn(line('failed', 'Busy', 'a') + line('failed', 'Full', 'b')).failed?.failure).toBe('Busy')
  })

  test('S36 whatever the bytes, facts are few, short and safe to show', () => {
    const value = fc.string({ unit: 'binary', maxLength: 2_000 })
    const lines = fc.array(fc.tuple(fc.constantFrom('fact', 'failed', 'done', 'x'), fc.string(), value), {
      maxLength: 200,
    })
    fc.assert(
      fc.property(lines, (said) => {
        const { facts, failed } = answerIn(said.map(([kind, name, text]) => line(kind, name, text)).join(''))
        expect(facts.size).toBeLessThanOrEqual(64)
        for (const text of [...facts.values(), failed?.why ?? '']) {
          expect([...text].length).toBeLessThanOrEqual(300)
          expect(text).not.toMatch(/\p{Cc}/u)
        }
      }),
    )
  })

  test('an escape sequence shows as such', () => {
    expect(oneLine('\u001b]0;title\u0007 a\r\n\tb ')).toBe('\ufffd]0;title\ufffd a\ufffd b')
  })
})
