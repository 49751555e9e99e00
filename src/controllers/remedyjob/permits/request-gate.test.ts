import { expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { RequestGate, MOST_PUT_OFF_MS } from './request-gate.ts'

const job = (name: string, phase?: 'Pending' | 'AwaitingPermit') =>
  ({ metadata: { name }, ...(phase !== undefined && { status: { phase } }) }) as unknown as RemedyOperationJob

function setup() {
  const clock = new VirtualClock()
  const woken: string[] = []
  return { clock, woken, requestGate: new RequestGate(clock, (name) => void woken.push(name)) }
}

test('a job begins at once while no other asks', () => {
  const { requestGate } = setup()
  requestGate.note(undefined, job('a'))
  requestGate.note(job('a'), job('a', 'AwaitingPermit'))
  expect(requestGate.putOffMs('a')).toBeUndefined()
})

test('it is put off while others have not asked yet, and woken when the last of them has', () => {
  const { requestGate, woken } = setup()
  for (const other of ['b', 'c']) requestGate.note(undefined, job(other))
  expect(requestGate.putOffMs('a')).toBe(2_000)
  requestGate.note(job('b'), job('b', 'AwaitingPermit'))
  expect(woken).toEqual([])
  requestGate.note(job('c'), undefined)
  expect([woken, requestGate.putOffMs('a')]).toEqual([['a'], undefined])
})

test('no job waits for one that cannot ask', async () => {
  const { requestGate, clock } = setup()
  requestGate.note(undefined, job('stuck', 'Pending'))
  expect(requestGate.putOffMs('a')).toBe(2_000)
  await clock.advance(2_000)
  requestGate.note(job('stuck', 'Pending'), job('stuck', 'Pending'))
  expect(requestGate.putOffMs('a')).toBeUndefined()
})

test('a steady stream of requests delays it for a few seconds at most', async () => {
  const { requestGate, clock } = setup()
  let waited = 0
  for (let n = 0; ; n++) {
    requestGate.note(undefined, job(`new-${n}`))
    if (requestGate.putOffMs('a') === undefined) break
    await clock.advance(500)
    waited += 500
  }
  expect(waited).toBe(MOST_PUT_OFF_MS)
})
