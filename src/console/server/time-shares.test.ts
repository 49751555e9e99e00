import { expect, test } from 'vitest'
import type { SignedIn } from './sessions.ts'
import { TimeShares } from './time-shares.ts'

const person = (name: string, how: 'Link' | 'Token' = 'Token') =>
  ({ person: { name, groups: [], how } }) as unknown as SignedIn

function shares() {
  let now = 1_000
  const all = new TimeShares({ monotonic: () => now })
  const ask = (who: SignedIn, ms: number): string => {
    try {
      return all.run(who, () => {
        now += ms
        return 'answered'
      })
    } catch (e) {
      return (e as Error).message
    }
  }
  return { ask, pass: (ms: number) => (now += ms) }
}

test('a person who asks for much waits, is told for how long, and no other person waits for it', () => {
  const { ask, pass } = shares()
  const [eve, ada] = [person('eve'), person('ada')]
  let answered = 0
  while (ask(eve, 100) === 'answered') answered++
  expect(answered).toBeGreaterThan(20)
  expect(answered).toBeLessThan(40)
  expect(ask(eve, 100)).toMatch(/^your questions took too much time of the server; ask again in 1s$/)
  expect(ask(ada, 100)).toBe('answered')
  pass(1_000)
  expect(ask(eve, 100)).toBe('answered')
})

test('accounts of a namespace have one share, and the person of the link has no bound', () => {
  const { ask } = shares()
  for (let n = 0; ask(person(`system:serviceaccount:team:a-${n}`), 100) === 'answered'; n++) expect(n).toBeLessThan(40)
  expect(ask(person('system:serviceaccount:team:other'), 1)).not.toBe('answered')
  for (let n = 0; n < 100; n++) expect(ask(person('eve', 'Link'), 100)).toBe('answered')
})
