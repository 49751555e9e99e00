// A request that follows a log, in virtual time and with a real file.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { logRequest } from '#api/kinds/log-request.ts'
import { LOG_FOLLOW_MS, LOG_PAGE_EVERY_MS } from '#api/protocol/log-bounds.ts'
import { pageText } from '#api/protocol/log-requests.ts'
import { newSealingKey } from '#api/sealed.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { KnownFields } from '../known-fields.ts'
import { answerLogRequest } from './log-answer.ts'

const NAME = 'a'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'kubenode-log-answer-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a request that follows ends by itself after its time, with the last lines and the reason', async () => {
  const path = join(folder, 'beacon.log')
  writeFileSync(path, 'old\n')
  const clock = new VirtualClock()
  const fake = new FakeKube({
    clock,
    random: seededRandom(1),
    kinds: [{ type: logRequest, status: true }],
    bookmarkEveryMs: 0,
  })
  const client = fake.client({ actor: 'agent' })
  const key = newSealingKey()
  await client.create(logRequest, {
    apiVersion: API_GROUP_VERSION,
    kind: logRequest.kind,
    metadata: { name: NAME },
    spec: {
      machine: 'm',
      machineUid: 'u',
      component: 'beacon',
      follow: true,
      replyKey: key.publicKey,
      ticket: 't'.repeat(64),
      by: 'ada',
    },
  })
  const deps = {
    client,
    known: new KnownFields(silentLogger),
    clock,
    log: silentLogger,
    machine: 'm',
    machineUid: () => 'u',
    components: () => ['beacon'],
    placeOf: () => ({ kind: 'File', path }) as const,
    secretsOf: () => Promise.resolve([]),
  }
  const status = async () => (await client.get(logRequest, { name: NAME }))?.status
  let hasEnded = false
  const answering = answerLogRequest(deps, NAME, 't'.repeat(64), new AbortController().signal).then(
    () => (hasEnded = true),
  )
  await clock.advance(LOG_FOLLOW_MS - 2 * LOG_PAGE_EVERY_MS)
  expect([hasEnded, (await status())?.phase]).toEqual([false, 'Answering'])
  appendFileSync(path, 'new\n')
  await clock.advance(4 * LOG_PAGE_EVERY_MS)
  await answering
  const { phase, message, page = 0, sealed = '' } = (await status()) ?? {}
  expect([phase, message]).toEqual(['Done', 'ended after 10 minutes'])
  expect(pageText(key.privateKey, 'm', NAME, page, sealed)).toBeDefined()
})
