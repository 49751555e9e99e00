import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Sessions, type SignedIn } from './sessions.ts'

const person = (name: string, onClose: () => void = () => undefined): SignedIn => ({
  person: { name, groups: [], how: 'Token' },
  identity: name,
  clientOf: () => undefined,
  close: onClose,
})

test('a person who signs in again and again signs out only their own oldest sessions', () => {
  const sessions = new Sessions(new VirtualClock())
  const ada = sessions.open(person('ada'))
  let closed = 0
  const all = Array.from({ length: 200 }, () => sessions.open(person('mallory', () => closed++)))
  const open = all.filter(({ secret }) => sessions.of(secret) !== undefined)
  expect(sessions.of(ada.secret)?.person.name).toBe('ada')
  expect(open).toEqual(all.slice(-32))
  expect(closed).toBe(200 - 32)
})

test('a tenant who signs in with a thousand accounts of a namespace signs no other person out', () => {
  const sessions = new Sessions(new VirtualClock())
  const people = Array.from({ length: 100 }, (_, n) => sessions.open(person(`p-${n}`)))
  for (let n = 0; n < 2_000; n++) sessions.open(person(`system:serviceaccount:tenant:robot-${n}`))
  expect(people.filter(({ secret }) => sessions.of(secret) === undefined)).toEqual([])
})

test('one person more than there are sessions has the place of the oldest', () => {
  const sessions = new Sessions(new VirtualClock())
  const all = Array.from({ length: 1_001 }, (_, n) => sessions.open(person(`p-${n}`)))
  expect(all.map(({ secret }) => sessions.of(secret) !== undefined).indexOf(true)).toBe(1)
})
