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

test('of many sources all are kept while they are small, and of each the newest sixteen', async () => {
  const many = 'abcdefghijklmnopqrst'.split('').map((source) => `${source}1`)
  const kept = await filled(4_096, Object.fromEntries(many.map((name) => [name, 100])))
  expect(there(kept, many.join(' '))).toBe(many.join(' '))
  const names = 'a0 b0 a1 a2 a3 a4 a5 a6 a7 a8 a9 aa ab ac ad ae af ag'.split(' ')
  const one = await filled(4_096, Object.fromEntries(names.map((name) => [name, 1])))
  expect(there(one, 'a0 a1 ag b0')).toBe('a1 ag b0')
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

test('one aside drives no other out, and goes first', async () => {
  const kept = await filled(1_000, { a1: 300, a2: 300 })
  const aside = made(300)
  kept.add('a', '0', aside, true)
  await aside
  expect(kept.get('a', '0', true)).toBe(aside)
  const more = made(300)
  kept.add('a', '3', more)
  await more
  expect([kept.has('a', '0'), there(kept, 'a1 a2 a3')]).toEqual([false, 'a1 a2 a3'])
  const late = made(300)
  kept.add('a', '9', late, true)
  await late
  expect([kept.has('a', '9'), there(kept, 'a1 a2 a3')]).toEqual([false, 'a1 a2 a3'])
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
