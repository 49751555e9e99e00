import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Person } from '../protocol.ts'
import { OpenAnswers } from './open-answers.ts'

class Answer extends EventEmitter {
  isCut = false
  destroy(): this {
    this.isCut = true
    this.emit('close')
    return this
  }
}

function open(answers: OpenAnswers, name: string, how: Person['how'] = 'Token'): Answer {
  const answer = new Answer()
  answers.add(answer as never, { person: { name, groups: [], how }, identity: name, clientOf: () => undefined })
  return answer
}

test('a person who reads nothing gets no more answers than are allowed, and everybody else does', () => {
  const answers = new OpenAnswers(new VirtualClock(), { ofPerson: 2, ofGroup: 3 })
  const [first] = [open(answers, 'mallory'), open(answers, 'mallory')]
  expect(() => open(answers, 'mallory')).toThrow('answers to you are unread')
  open(answers, 'ada')
  first.emit('close')
  open(answers, 'mallory')
})

test('accounts of one namespace have a bound together, and links have none', () => {
  const answers = new OpenAnswers(new VirtualClock(), { ofPerson: 2, ofGroup: 3 })
  const account = (n: number): string => `system:serviceaccount:tenant:robot-${n}`
  for (const n of [1, 2, 3]) open(answers, account(n))
  expect(() => open(answers, account(4))).toThrow('answers to you are unread')
  for (let n = 0; n < 10; n++) open(answers, 'ada', 'Link')
})

test('an answer that is not read within a minute is cut, and its place is free', async () => {
  const clock = new VirtualClock()
  const answers = new OpenAnswers(clock, { ofPerson: 1, ofGroup: 1 })
  const [unread, file] = [open(answers, 'mallory'), new Answer()]
  answers.watch(file as never)
  await clock.advance(60_000)
  expect([unread.isCut, file.isCut]).toEqual([true, true])
  const read = open(answers, 'mallory')
  read.emit('close')
  await clock.advance(60_000)
  expect(read.isCut).toBe(false)
})
