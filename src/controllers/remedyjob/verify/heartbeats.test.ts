// When a probe counts as run after the repair.
import { expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { Heartbeats } from './heartbeats.ts'

const job = { metadata: { name: 'j', uid: 'j' }, spec: { machine: 'n' } } as unknown as RemedyOperationJob

function told(renewed: readonly (string | undefined | Error)[]) {
  let n = 0
  const get = async () => {
    const next = renewed[n++]
    if (next instanceof Error) throw next
    return next === undefined ? undefined : { spec: { renewTime: next } }
  }
  return { beats: new Heartbeats({ get } as never), looks: renewed.length }
}

async function answers(renewed: readonly (string | undefined | Error)[]): Promise<readonly boolean[]> {
  const { beats, looks } = told(renewed)
  const said: boolean[] = []
  for (let n = 0; n < looks; n++) said.push(await beats.isReporting(job))
  return said
}

test('an agent counts as alive at its second heartbeat since the first reading', async () =>
  expect(await answers(['1', '1', '2', '2', '3', '3'])).toEqual([false, false, false, false, true, true]))

test('a clock that goes backwards beats too', async () =>
  expect(await answers(['9', '5', '1'])).toEqual([false, false, true]))

test('what cannot be read is no beat, and neither is what was read before again', async () =>
  expect(await answers(['1', new Error('away'), '1', undefined, '1', '2'])).toEqual(Array(6).fill(false)))

test('an agent that never beat is never heard of', async () =>
  expect(await answers([undefined, undefined])).toEqual([false, false]))
