// A wait ends with its limit, whatever the server does.
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { until, type InstallContext } from './context.ts'

function waiting(poll: Parameters<typeof until>[2], more: Partial<InstallContext> = {}) {
  const clock = new VirtualClock()
  const context = { clock, timeoutMs: 60_000, print: () => undefined, ...more } as unknown as InstallContext
  let ended: unknown
  until(context, 'pods to end', poll).then(
    (value) => (ended = value ?? 'done'),
    (error: unknown) => (ended = String(error)),
  )
  return { clock, ended: () => ended }
}

const never = () => new Promise<never>(() => undefined)

test('a request that is never answered ends with the limit of the wait', async () => {
  const wait = waiting(never)
  await wait.clock.advance(59_000)
  expect(wait.ended()).toBeUndefined()
  await wait.clock.advance(2_000)
  expect(wait.ended()).toContain('waited 60 s for pods to end: the server does not answer')
})

test('one that stops being answered names what it waited for until then', async () => {
  let polls = 0
  const wait = waiting(() => (++polls > 3 ? never() : Promise.resolve({ waitsFor: '2 pods left' })))
  await wait.clock.advance(61_000)
  expect(wait.ended()).toContain('waited 60 s for pods to end: 2 pods left')
})

test('an interrupt ends a wait whose request hangs', async () => {
  const interrupt = new AbortController()
  const wait = waiting(never, { signal: interrupt.signal })
  await wait.clock.advance(1_000)
  interrupt.abort(new Error('interrupted'))
  await wait.clock.advance(0)
  expect(wait.ended()).toContain('interrupted')
})

test('an answer within the limit is the result', async () => {
  let polls = 0
  const wait = waiting(async () => (++polls > 3 ? { done: 'gone' } : { waitsFor: '1 pod left' }))
  await wait.clock.advance(5_000)
  expect(wait.ended()).toBe('gone')
})
