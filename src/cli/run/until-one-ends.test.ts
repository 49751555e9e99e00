import { expect, test } from 'vitest'
import { untilOneEnds } from './until-one-ends.ts'

/** Ends as `how` says, or when it is stopped. */
const role = (how: string, signal: AbortSignal): Promise<string> => {
  if (how === 'dies') return Promise.reject(new Error('died'))
  if (how === 'loses') return Promise.resolve('LeadershipLost')
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
