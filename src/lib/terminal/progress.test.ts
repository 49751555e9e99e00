import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { withProgress } from './progress.ts'

async function said(ms: number, end: 'answer' | 'error', ...widths: readonly number[]): Promise<readonly string[]> {
  const clock = new VirtualClock()
  const lines: string[] = []
  const work = clock.sleep(ms).then(() => {
    if (end === 'error') throw new Error('no')
    return 7
  })
  const [first, ...later] = widths
  const rest = [...later]
  let width = first
  const errWidth = () => width
  const err = (t: string) => {
    lines.push(t)
    width = rest.shift() ?? width
  }
  const io = { err, ...(first !== undefined && { errWidth }) }
  const result = withProgress(io, 'rendering', work, clock).catch(() => 'failed')
  await clock.advance(60_000)
  expect(await result).toBe(end === 'error' ? 'failed' : 7)
  return lines
}

test('what is quick says nothing, also when it fails', async () => {
  expect(await said(4_900, 'answer')).toEqual([])
  expect(await said(1_900, 'error', 80)).toEqual([])
})

test('in a pipe what is slow is named once', async () => {
  expect(await said(5_100, 'answer')).toEqual(['rendering\n'])
  expect(await said(50_000, 'error')).toEqual(['rendering\n'])
})

test('on a terminal one line counts the seconds, fits, and is gone at the end', async () => {
  expect(await said(3_500, 'answer', 80)).toEqual(['\r\u001b[Krendering 2s', '\r\u001b[Krendering 3s', '\r\u001b[K'])
  expect(await said(2_100, 'error', 9)).toEqual(['\r\u001b[Krend… 2s', '\r\u001b[K'])
})

test('a window that narrows below the line breaks it: all its rows are removed', async () => {
  expect(await said(3_500, 'answer', 80, 8, 4)).toEqual([
    '\r\u001b[Krendering 2s',
    '\r\u001b[1A\u001b[Jren… 3s',
    '\r\u001b[1A\u001b[J',
  ])
})
