// Logs in the console: asked for with the rights of the person, passed on as the agent writes them, and ended with the log, the page, the session or the right. (S35)
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { logRequest } from '#api/kinds/log-request.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { sealedPage } from '#api/protocol/log-requests.ts'
import { newSealingKey } from '#api/sealed.ts'
import { RIGHT_ENDS_WITHIN_MS } from '#console/server/access.ts'
import type { LogPart } from '#console/logs.ts'
import type { NodeTopic } from '#console/protocol.ts'
import { HEARTBEAT_MS } from '#console/server/stream.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { problemsAs } from '#test/support/console/messages.ts'
import type { Browser } from '#test/support/console/plain-browser.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'

const ASKED = { cluster: CLUSTER, machine: 'n-1', component: 'beacon' }
const NODE = `node/${CLUSTER}/n-1`
const STATUS = { subresource: 'status' }
const agentKey = newSealingKey()
let world: PeopleWorld
let agent = new AbortController()

beforeAll(async () => {
  world = await peopleWorld()
  await world.allow('reader', ['machines'], ['get', 'list', 'watch'])
  await world.allow('reader', ['machines/log'], ['get'])
  await world.allow('reader', ['logrequests'], ['create', 'get', 'watch', 'delete'])
  await world.allow('visitor', ['machines'], ['get', 'list', 'watch'])
  const made = await world.admin.create<Machine>(machine, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: 'n-1' },
    spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
  })
  const value = { status: { agent: { version: '1.0.0', publicKey: agentKey.publicKey } } }
  await world.admin.patch(machine, { name: made.metadata.name ?? '' }, { type: 'merge', value }, STATUS)
})
afterAll(() => (world as PeopleWorld | undefined)?.stop())
afterEach(async () => {
  agent.abort()
  agent = new AbortController()
  await expect.poll(left).toBe(0)
})

const left = async (): Promise<number> => (await world.admin.list(logRequest)).items.length

/** Answers each request with one page, and with a second one that is the last if `isDone`. */
async function answers(isDone: boolean): Promise<void> {
  const { resourceVersion } = await world.admin.list(logRequest)
  void (async () => {
    for await (const event of world.admin.watch(logRequest, { resourceVersion, signal: agent.signal })) {
      if (event.type !== 'ADDED') continue
      const { metadata, spec } = event.object
      const name = metadata.name ?? ''
      const put = (page: number, phase: 'Answering' | 'Done', text: string) => {
        const value = { status: { phase, page, sealed: sealedPage(spec.replyKey, 'n-1', name, page, text) } }
        return world.admin.patch(logRequest, { name }, { type: 'merge', value }, STATUS)
      }
      await put(1, 'Answering', 'starting\ntoken=[secret]')
      if (isDone) await put(2, 'Done', 'ready')
    }
  })().catch(() => undefined)
}

async function signedIn(port: number, name: string): Promise<Browser> {
  const browser = world.browser(port)
  const body = { token: await world.tokenOf(name) }
  expect((await browser.ask('/api/sign-in', { method: 'POST', body })).status).toBe(200)
  return browser
}

const follow = (browser: Browser, asked: object = ASKED) => browser.ask('/api/logs', { method: 'POST', body: asked })

function partsOf(text: string): readonly LogPart[] {
  const parts = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LogPart)
  expect(parts.flatMap((part) => problemsAs('LogPart', part))).toEqual([])
  return parts
}

test('a person reads what the agent sealed for the console, until the log ends, and nothing is left of the request', async () => {
  await answers(true)
  const { port } = await world.role({})
  const reader = await signedIn(port, 'reader')
  expect((await reader.topic<NodeTopic>(NODE)).head.canReadLogs).toBe(true)
  const { status, text } = await follow(reader)
  expect(status).toBe(200)
  expect(partsOf(text)).toEqual([
    { lines: ['starting', 'token=[secret]'] },
    { lines: ['ready'] },
    { end: 'the log ended' },
  ])
})

test('who may read machines and not their logs is offered none, and gets none', async () => {
  await answers(true)
  const { port } = await world.role({})
  const visitor = await signedIn(port, 'visitor')
  expect((await visitor.topic<NodeTopic>(NODE)).head.canReadLogs).toBeUndefined()
  expect((await follow(visitor)).status).toBe(403)
})

test('a name that is a path, and a machine that is none, reach no agent', async () => {
  const { port } = await world.role({})
  const reader = await signedIn(port, 'reader')
  expect((await follow(reader, { ...ASKED, component: '../agent' })).status).toBe(422)
  expect((await follow(reader, { ...ASKED, machine: 'n-2' })).status).toBe(404)
})

test('four logs at once are the most of one person, and all end when that person signs out', async () => {
  await answers(false)
  const { port } = await world.role({}, undefined, fastClock(20))
  const reader = await signedIn(port, 'reader')
  const open = Array.from({ length: 4 }, () => follow(reader))
  await expect.poll(left).toBe(4)
  expect(await follow(reader)).toMatchObject({ status: 503, text: expect.stringContaining('stop one of them') })
  expect((await reader.ask('/api/sign-out', { method: 'POST', body: {} })).status).toBe(200)
  for (const { text } of await Promise.all(open)) expect(partsOf(text).at(-1)).toEqual({ end: 'your session ended' })
})

test('a log ends with the right to read logs', async () => {
  await answers(false)
  const clock = fastClock(20)
  const { port } = await world.role({}, undefined, clock)
  const reader = await signedIn(port, 'reader')
  const open = follow(reader)
  await expect.poll(left).toBe(1)
  // A quiet log is no silent answer: proxies end those.
  await clock.sleep(3 * HEARTBEAT_MS)
  await world.admin.delete(coreKind('ClusterRole'), { name: 'reader-machines-log-get' })
  const began = clock.monotonic()
  const parts = partsOf((await open).text)
  expect(parts.at(-1)).toEqual({ end: 'you may not read logs of machines any more' })
  expect(parts).toContainEqual({ lines: [] })
  expect(clock.monotonic() - began).toBeLessThan(RIGHT_ENDS_WITHIN_MS)
})
