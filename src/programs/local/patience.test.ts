import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { SILENT_MS, patiently } from './patience.ts'

test.each([
  [SILENT_MS - 1, []],
  [SILENT_MS + 1, ['waiting for the API server of hub']],
])('a wait of %i ms says: %j', async (ms, expected) => {
  const clock = new VirtualClock()
  const said: string[] = []
  let finish = (): void => undefined
  const work = new Promise<void>((done) => (finish = done))
  const waiting = patiently({ clock, print: (line) => said.push(line) }, 'the API server of hub', work)
  await clock.advance(ms)
  finish()
  await waiting
  await clock.advance(10 * SILENT_MS)
  expect(said).toEqual(expected)
})

test('what is waited for is found out when it is said', async () => {
  const clock = new VirtualClock()
  const said: string[] = []
  const left = ['sync', 'defender']
  let finish = (): void => undefined
  const work = new Promise<void>((done) => (finish = done))
  const waiting = patiently({ clock, print: (line) => said.push(line) }, () => `${left.join(', ')} to end`, work)
  left.pop()
  await clock.advance(SILENT_MS + 1)
  finish()
  await waiting
  expect(said).toEqual(['waiting for sync to end'])
})

test('a signal ends the wait although the work goes on', async () => {
  const end = new AbortController()
  const patience = { clock: new VirtualClock(), print: () => undefined, signal: end.signal }
  const waiting = patiently(patience, 'x', new Promise(() => undefined))
  end.abort(new Error('ended by SIGINT'))
  await expect(waiting).rejects.toThrow('ended by SIGINT')
  await expect(patiently(patience, 'x', Promise.reject(new Error('late')))).rejects.toThrow('ended by SIGINT')
})

test('an error is passed on, and nothing is said after it', async () => {
  const clock = new VirtualClock()
  const said: string[] = []
  const failing = patiently({ clock, print: (line) => said.push(line) }, 'x', Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  await clock.advance(10 * SILENT_MS)
  expect(said).toEqual([])
})
