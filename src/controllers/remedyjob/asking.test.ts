import { expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Asking, MOST_PUT_OFF_MS } from './asking.ts'

const job = (name: string, phase?: 'Pending' | 'AwaitingPermit') =>
  ({ metadata: { name }, ...(phase !== undefined && { status: { phase } }) }) as unknown as RemedyOperationJob

function setup() {
  const clock = new VirtualClock()
  const woken: string[] = []
  return { clock, woken, asking: new Asking(clock, (name) => void woken.push(name)) }
}

test('a job begins at once while no other asks', () => {
  const { asking } = setup()
  asking.note(undefined, job('a'))
  asking.note(job('a'), job('a', 'AwaitingPermit'))
  expect(asking.putOffMs('a')).toBeUndefined()
})

test('it is put off while others have not asked yet, and woken when the last of them has', () => {
  const { asking, woken } = setup()
  for (const other of ['b', 'c']) asking.note(undefined, job(other))
  expect(asking.putOffMs('a')).toBe(2_000)
  asking.note(job('b'), job('b', 'AwaitingPermit'))
  expect(woken).toEqual([])
  asking.note(job('c'), undefined)
  expect([woken, asking.putOffMs('a')]).toEqual([['a'], undefined])
})

test('no job waits for one that cannot ask', async () => {
  const { asking, clock } = setup()
  asking.note(undefined, job('stuck', 'Pending'))
  expect(asking.putOffMs('a')).toBe(2_000)
  await clock.advance(2_000)
  asking.note(job('stuck', 'Pending'), job('stuck', 'Pending'))
  expect(asking.putOffMs('a')).toBeUndefined()
})

test('a steady stream of requests delays it for a few seconds at most', async () => {
  const { asking, clock } = setup()
  let waited = 0
  for (let n = 0; ; n++) {
    asking.note(undefined, job(`new-${n}`))
    if (asking.putOffMs('a') === undefined) break
    await clock.advance(500)
    waited += 500
  }
  expect(waited).toBe(MOST_PUT_OFF_MS)
})
