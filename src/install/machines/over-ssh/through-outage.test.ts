import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { throughOutage } from './through-outage.ts'

const away = () => new ConnectionError(kubeErrors.KN2001({ action: 'list', why: 'connection refused' }), 'no')

function asked(answer: (ms: number) => string, signal = new AbortController().signal) {
  const clock = new VirtualClock()
  const lines: string[] = []
  let calls = 0
  const request = async () => {
    calls++
    return answer(clock.monotonic())
  }
  const io = { err: (text: string) => void lines.push(text) }
  return { clock, lines, calls: () => calls, result: throughOutage(request, { clock, io, signal }) }
}
const refuse = (error: Error): never => {
  throw error
}

test('an outage of less than a minute is reported once, and the request is repeated', async () => {
  const { clock, lines, result } = asked((ms) => (ms < 50_000 ? refuse(away()) : 'there'))
  await clock.advance(60_000)
  expect(await result).toBe('there')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/no answer from the API server .*connection refused.*trying again/)
})

test('an outage of a minute ends with the error of the last request', async () => {
  const error = away()
  const { clock, calls, result } = asked(() => refuse(error))
  const ended = expect(result).rejects.toBe(error)
  await clock.advance(120_000)
  await ended
  expect(calls()).toBe(31)
})

test('a server that refuses is asked once', async () => {
  const error = new ApiError(failure(403, 'no'), { action: 'list', target: 'machines' })
  const { calls, lines, result } = asked(() => refuse(error))
  await expect(result).rejects.toBe(error)
  expect([calls(), lines]).toEqual([1, []])
})

test('a person who ends it does not wait', async () => {
  const ended = new AbortController()
  const { clock, result } = asked(() => refuse(away()), ended.signal)
  await clock.advance(3_000)
  const stopped = expect(result).rejects.toBe('ended')
  ended.abort('ended')
  await clock.advance(2_000)
  await stopped
})
