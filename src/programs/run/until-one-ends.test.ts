import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MOST_TO_END_MS, untilOneEnds } from './until-one-ends.ts'

/** Ends as `how` describes, or when stopped. */
const role = (how: string, signal: AbortSignal): Promise<string> => {
  if (how === 'dies') return Promise.reject(new Error('died'))
  if (how === 'loses') return Promise.resolve('LeadershipLost')
  if (how === 'hangs') return new Promise(() => undefined)
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('Stopped'), { once: true }))
}

test('a role that ends takes the others with it', async () => {
  const ended = untilOneEnds(['runs', 'loses', 'runs'], new AbortController().signal, role)
  expect(await ended).toEqual(['Stopped', 'LeadershipLost', 'Stopped'])
})

test('a role that fails takes the others with it, and its error is what counts', async () => {
  let isStopped = false
  const ended = untilOneEnds(['runs', 'dies'], new AbortController().signal, async (how, signal) => {
    const end = await role(how, signal)
    isStopped = end === 'Stopped'
    return end
  })
  await expect(ended).rejects.toThrow('died')
  expect(isStopped).toBe(true)
})

test('all end with the signal', async () => {
  const stop = new AbortController()
  const ended = untilOneEnds(['runs', 'runs'], stop.signal, role)
  stop.abort()
  expect(await ended).toEqual(['Stopped', 'Stopped'])
})

test.each([
  ['another one ends', ['hangs', 'loses'], /KN1446: 1 of 2 /],
  ['another one fails, whose error is what counts', ['hangs', 'dies'], /died/],
])('a role that does not end keeps no process alive when %s', async (_, roles, error) => {
  const clock = new VirtualClock()
  const ended = untilOneEnds(roles, new AbortController().signal, role, clock)
  const refused = expect(ended).rejects.toThrow(error)
  await clock.advance(MOST_TO_END_MS)
  await refused
})

test('a role that does not end keeps no process alive that is told to end', async () => {
  const clock = new VirtualClock()
  const stop = new AbortController()
  const ended = untilOneEnds(['hangs', 'runs'], stop.signal, role, clock)
  const refused = expect(ended).rejects.toThrow(/KN1446/)
  stop.abort()
  await clock.advance(MOST_TO_END_MS)
  await refused
})
