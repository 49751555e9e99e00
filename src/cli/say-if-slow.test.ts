import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { sayIfSlow } from './say-if-slow.ts'

const said = async (ms: number, end: 'answer' | 'error'): Promise<readonly string[]> => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const work = clock.sleep(ms).then(() => {
    if (end === 'error') throw new Error('no')
    return 7
  })
  const result = sayIfSlow((line) => lines.push(line), 'rendering', work, clock).catch(() => 'failed')
  await clock.advance(60_000)
  expect(await result).toBe(end === 'error' ? 'failed' : 7)
  return lines
}

test('what is quick says nothing, also when it fails', async () => {
  expect(await said(2_900, 'answer')).toEqual([])
  expect(await said(2_900, 'error')).toEqual([])
})

test('what is slow is named once', async () => {
  expect(await said(3_100, 'answer')).toEqual(['rendering\n'])
  expect(await said(50_000, 'answer')).toEqual(['rendering\n'])
})
