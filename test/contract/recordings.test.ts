// The embedded server answers as a real kube-apiserver 1.36 did when it was recorded; what differs is on a list with its reason.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiServer } from '#apiserver/api-server.ts'
import { knownDifferences } from './recorded/known-differences.ts'
import { caseId, recordedCases, recordings, type RecordedCase } from './recordings/case.ts'
import { differences } from './recordings/compare.ts'
import { playCase } from './recordings/run-case.ts'
import { Connection, type Target } from './recordings/target.ts'

/** As the recorded one: without the loops of a controller manager. */
async function embedded(): Promise<Target> {
  const server = await createApiServer({ loops: 'none' })
  await server.listen()
  const { admin } = server.credentials
  return { url: server.url, ca: server.ca, cert: admin.certificate, key: admin.key, stop: () => server.close() }
}

const cases = recordedCases()
const golden = recordings()
const known = new Map(knownDifferences.map((k) => [k.id, k.reason]))
const run = Array.from({ length: 5 }, () => 'bcdfghjkmnpqrstvwxz'[Math.floor(Math.random() * 19)]).join('')

let target: Target
let connection: Connection
beforeAll(async () => {
  target = await embedded()
  connection = new Connection(target)
})
afterAll(async () => {
  connection.close()
  await target.stop()
})

async function found(recorded: RecordedCase): Promise<readonly string[]> {
  const want = golden[caseId(recorded)]
  const got = await playCase(connection, recorded, run)
  return differences(want, got, recorded.message === 'exact')
}

describe.each([...Map.groupBy(cases, (c) => c.topic)])('%s', (_, ofTopic) => {
  const [differing, same] = [ofTopic.filter((c) => known.has(caseId(c))), ofTopic.filter((c) => !known.has(caseId(c)))]
  if (same.length > 0)
    test.concurrent.each(same.map((c) => [c.name, c] as const))('%s', async (_name, recorded) => {
      expect(await found(recorded)).toEqual([])
    })
  if (differing.length > 0)
    test.concurrent.each(differing.map((c) => [c.name, c] as const))(
      '%s (known to differ)',
      async (_name, recorded) => {
        expect(await found(recorded), 'this case passes now: take it off the list').not.toEqual([])
      },
    )
})

test('every recording has its case and every known difference its reason', () => {
  expect(cases.map(caseId).toSorted()).toEqual(Object.keys(golden).toSorted())
  const ids = new Set(cases.map(caseId))
  expect(knownDifferences.filter((k) => !ids.has(k.id) || k.reason.length < 20)).toEqual([])
})
