// Answers that are kept for a moment: by user and question, and never a failure.
import { expect, test } from 'vitest'
import { KeptAnswers } from './kept-answers.ts'

test('the same question is answered once in half a minute, a failure is asked again, and another user asks for themselves', async () => {
  const kept = new KeptAnswers<string>()
  let made = 0
  const make = () => Promise.resolve(String(++made))
  const ask = (key: string, at: number) => kept.of(key, at, make)
  expect([await ask('ada', 0), await ask('ada', 29_000), await ask('bob', 29_000), await ask('ada', 30_000)]).toEqual([
    '1',
    '1',
    '2',
    '3',
  ])
  await expect(kept.of('eve', 40_000, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await ask('eve', 40_001)).toBe('4')
})
