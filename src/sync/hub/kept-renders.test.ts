import { expect, test } from 'vitest'
import { KeptRenders } from './kept-renders.ts'
import { KIB } from '#lib/bytes.ts'

interface Made {
  readonly bytes: number
}
const made = async (kib: number): Promise<Made> => ({ bytes: kib * KIB })

/** `a1` is source `a`, commit `1`. */
async function filled(maxKib: number, sizes: Readonly<Record<string, number>>): Promise<KeptRenders<Made>> {
  const kept = new KeptRenders<Made>(maxKib * KIB, ({ bytes }) => bytes)
  for (const [[source = '', commit = ''], kib] of Object.entries(sizes).map(([k, v]) => [k.split(''), v] as const)) {
    const each = made(kib)
    kept.add(source, commit, each)
    await each
  }
  return kept
}

const there = (kept: KeptRenders<Made>, names: string): string =>
  names
    .split(' ')
    .filter(([source = '', commit = '']) => kept.get(source, commit) !== undefined)
    .join(' ')

test('of many sources all are kept while they are small, and of each the newest eight', async () => {
  const many = 'abcdefghijklmnopqrst'.split('').map((source) => `${source}1`)
  const kept = await filled(4_096, Object.fromEntries(many.map((name) => [name, 100])))
  expect(there(kept, many.join(' '))).toBe(many.join(' '))
  const one = await filled(4_096, { a0: 1, b0: 1, a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, a6: 1, a7: 1, a8: 1 })
  expect(there(one, 'a0 a1 a8 b0')).toBe('a1 a8 b0')
})

test('large ones are dropped, the one first that was asked for longest ago, and two are kept whatever their size', async () => {
  const kept = await filled(1_000, { a1: 300, a2: 300, b1: 300 })
  expect(kept.get('a', '1')).toBeDefined()
  const more = made(300)
  kept.add('b', '2', more)
  await more
  expect(there(kept, 'a1 a2 b1 b2')).toBe('a1 b1 b2')
  expect(there(await filled(1_000, { a1: 5_000, a2: 5_000, a3: 5_000 }), 'a1 a2 a3')).toBe('a2 a3')
})

test('one that failed counts little, and only itself is dropped', async () => {
  const kept = await filled(1_000, { a1: 300, a2: 300 })
  const failed = Promise.reject<Made>(new Error('no'))
  kept.add('a', '3', failed)
  await failed.catch(() => undefined)
  expect(there(kept, 'a1 a2 a3')).toBe('a1 a2 a3')
  kept.drop('a', '3', made(1))
  expect(there(kept, 'a1 a2 a3')).toBe('a1 a2 a3')
  kept.drop('a', '3', failed)
  expect(there(kept, 'a1 a2 a3')).toBe('a1 a2')
})
