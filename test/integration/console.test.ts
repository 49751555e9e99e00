// The console over a real API server: links, what each topic holds, and a stream without gaps.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import type { HomeTopic, MachinesTopic, Snapshot } from '#console/protocol.ts'
import { applied } from '#console/delta.ts'
import { HEARTBEAT_MS } from '#console/server/stream.ts'
import { type ConsoleWorld, consoleWorld, freePort, NO_PAGE } from '#test/support/console/console-world.ts'
import { Browser, type EventStream } from '#test/support/console/plain-browser.ts'

let world: ConsoleWorld

beforeAll(async () => {
  world = await consoleWorld()
})
afterAll(() => world.stop())

const newMachine = (name: string, zone: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone, pool: 'workers', channel: 'Agent' },
})

async function signedIn(of = new Map([['test', world.admin]]), port = 0) {
  const running = await world.console(of, port)
  const browser = new Browser(running.port)
  expect((await browser.open(running.newLink())).status).toBe(303)
  await expect.poll(async () => (await browser.session()).clusters[0]?.state).toBe('Connected')
  return { running, browser }
}

const zoneOf = ({ names, words, columns }: MachinesTopic, name: string): string | undefined =>
  words[columns.zone[names.indexOf(name)] ?? 0]

const replayed = <T extends Snapshot>(first: T, stream: EventStream): T =>
  stream.deltas.reduce((state, e) => {
    const own = e.deltas.filter((d) => d.topic === first.topic)
    return own.reduce((s, d) => applied(s, d, e.revision, e.at), state)
  }, first)

test('a link signs in once, and nobody reads anything without a session', async () => {
  const running = await world.console(new Map([['test', world.admin]]))
  const stranger = new Browser(running.port)
  for (const path of ['/api/session', '/api/topic/home', '/events?topics=home'])
    expect((await stranger.ask(path)).status, path).toBe(401)
  const link = running.newLink()
  const browser = new Browser(running.port)
  // What looks where a link leads does not use it up.
  expect((await stranger.ask(new URL(link).pathname, { method: 'HEAD' })).status).toBe(200)
  const first = await browser.open(link)
  expect(first.headers['set-cookie']?.[0]).toMatch(/; HttpOnly; SameSite=Strict$/)
  expect((await browser.session()).person.how).toBe('Link')
  expect((await stranger.open(link)).status).toBe(410)
  const read = await stranger.ask(new URL(link).pathname, { headers: { accept: 'text/html,*/*;q=0.8' } })
  expect(read.text).toBe('this link was used or is too old; run kubenode console for a new one\n')
  expect((await stranger.ask('/api/session')).status).toBe(401)
})

/** Notes the name once anything is listed. */
const noting = (name: string, listed: Set<string>): KubeClient =>
  new Proxy(world.admin, {
    get: (client, key) => {
      if (key === 'list') listed.add(name)
      const value: unknown = Reflect.get(client, key, client)
      return typeof value === 'function' ? value.bind(client) : value
    },
  })

test('one that reads when it is used lists nothing before, and then also clusters that came meanwhile', async () => {
  const listed = new Set<string>()
  const first = new Map([['first', noting('first', listed)]])
  const running = await world.console(first, 0, NO_PAGE, true)
  running.show(new Map([...first, ['second', noting('second', listed)]]))
  const link = running.newLink()
  expect([...listed]).toEqual([])
  const browser = new Browser(running.port)
  await browser.open(link)
  const states = async () => (await browser.session()).clusters.map((c) => c.state)
  await expect.poll(states).toEqual(['Connected', 'Connected'])
  expect([...listed].toSorted()).toEqual(['first', 'second'])
})

test('each topic of a cluster has a snapshot, and unknown ones have none', async () => {
  const { browser } = await signedIn()
  for (const topic of [
    'home',
    'pipeline',
    'clusters',
    'commits',
    'machines/test',
    'sets/test',
    'budgets/test',
    'repairs/test',
    'maintenance/test',
  ])
    expect((await browser.topic(topic)).topic).toBe(topic)
  for (const topic of ['nothing', 'machines', 'machines/other', 'set/test/none', 'node/test/none', 'machines/test/a/b'])
    expect((await browser.ask(`/api/topic/${topic}`)).status, topic).toBe(404)
})

test('a stream tells what changed since the snapshot, and resumes without a gap', async () => {
  const { browser } = await signedIn()
  await world.admin.create(machine, newMachine('n-1', 'zone-a'))
  await expect.poll(async () => (await browser.topic<MachinesTopic>('machines/test')).names).toContain('n-1')
  const before = await browser.topic<MachinesTopic>('machines/test')
  const stream = browser.stream(['machines/test', 'home'], before.revision)
  await expect.poll(() => stream.status).toBe(200)
  await world.admin.create(machine, newMachine('n-2', 'zone-b'))
  await expect.poll(() => zoneOf(replayed(before, stream), 'n-2')).toBe('zone-b')
  const seen = replayed(before, stream)
  const lastId = stream.lastId
  stream.close()
  // While no stream is open.
  await world.admin.delete(machine, { name: 'n-1' })
  await world.admin.create(machine, newMachine('n-3', 'zone-c'))
  const again = browser.stream(['machines/test', 'home'], lastId)
  await expect.poll(() => replayed(seen, again).names.toSorted()).toEqual(['n-2', 'n-3'])
  expect(again.resyncs).toEqual([])
  expect(await browser.topic<MachinesTopic>('machines/test')).toMatchObject({
    words: replayed(seen, again).words,
  })
  again.close()
})

test('an open page learns at once that clusters were added or taken out', async () => {
  const { running, browser } = await signedIn()
  const learnsOf = async (clusters: readonly string[]) => {
    const stream = browser.stream(['home'], (await browser.topic('home')).revision)
    await expect.poll(() => stream.status).toBe(200)
    running.show(new Map(clusters.map((name) => [name, world.admin])))
    const soon = { timeout: HEARTBEAT_MS / 2 }
    await expect.poll(() => stream.events.map((e) => e.event), soon).toContain('session')
    expect((await browser.session()).clusters.map((c) => c.name)).toEqual(clusters)
    await expect.poll(() => stream.isEnded).toBe(true)
  }
  await learnsOf(['test', 'other'])
  await learnsOf(['other'])
})

test('a server that was killed and is back tells its readers to read again', async () => {
  const port = await freePort()
  const first = await signedIn(undefined, port)
  const before = await first.browser.topic<HomeTopic>('home')
  await first.running.stop()
  const second = await signedIn(undefined, port)
  const stream = second.browser.stream(['home', 'machines/test'], before.revision)
  await expect.poll(() => stream.resyncs[0]?.topics).toEqual(['home', 'machines/test'])
  stream.close()
})
