// One person who opens stream after stream: no other person loses a place at the console, and a page that loses one shows why. (S35)
import { readFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import type { ByeEvent, Refusal } from '#console/protocol.ts'
import { type RunningConsole, startConsole } from '#console/server/console.ts'
import { ProxyPeople } from '#console/server/sign-in/proxy.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { type CertificateAuthority, newAuthority } from '#test/support/servers/tls.ts'
import { NO_PAGE } from '#test/support/console/console-world.ts'
import { type Browser, EventStream } from '#test/support/console/plain-browser.ts'
import { CLUSTER, HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld
let proxies: CertificateAuthority
const TOPIC = `machines/${CLUSTER}`
const CONNECTIONS = 16
const PEOPLE = ['ada', 'bob', 'carol', 'mallory'] as const

beforeAll(async () => {
  ;[world, proxies] = await Promise.all([peopleWorld(), newAuthority('proxy-ca')])
  for (const name of PEOPLE)
    for (const subject of [name, `user:${name}`]) await world.allow(subject, ['machines'], ['get', 'list', 'watch'])
})
afterAll(() => world.stop())

const newMachine = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

async function signedIn(port: number, name: string): Promise<Browser> {
  const browser = world.browser(port)
  const body = { token: await world.tokenOf(name) }
  expect((await browser.ask('/api/sign-in', { method: 'POST', body })).status).toBe(200)
  await expect.poll(async () => (await browser.ask(`/api/topic/${TOPIC}`)).status).toBe(200)
  return browser
}

const byeOf = ({ events }: EventStream): ByeEvent | undefined => {
  const last = events.at(-1)
  return last?.event === 'bye' ? (JSON.parse(last.data) as ByeEvent) : undefined
}

async function isOpen(stream: EventStream): Promise<void> {
  await expect.poll(() => stream.status).toBe(200)
}

test('a person who opens many streams keeps sixteen of them, and no other person notices (S35)', async () => {
  const { port } = await world.role({})
  const [ada, mallory] = [await signedIn(port, 'ada'), await signedIn(port, 'mallory')]
  const own = ada.stream([TOPIC])
  await isOpen(own)
  // A token of its own for each half: whose it is counts, not what they signed in with.
  const again = await signedIn(port, 'mallory')
  const streams: EventStream[] = []
  for (let n = 0; n < 20; n++) {
    const stream = (n % 2 === 0 ? mallory : again).stream([TOPIC])
    await isOpen(stream)
    streams.push(stream)
  }
  await expect.poll(() => streams.filter((s) => s.isEnded)).toEqual(streams.slice(0, 4))
  expect(byeOf(streams[0] as EventStream)).toEqual({
    reason: 'TooManyStreams',
    message:
      'you have this console open in more than 16 browsers, so the page that was opened first is paused; close pages that you do not need',
  })
  await world.admin.create(machine, newMachine('n-16'))
  await expect.poll(() => own.deltas.length).toBeGreaterThan(0)
  await expect.poll(() => streams.slice(4).every((s) => s.deltas.length > 0)).toBe(true)
  for (const stream of [own, ...streams]) stream.close()
})

test('when all places are taken, whoever has most of them gives one to a person without; then the newest is told why (S35)', async () => {
  const running = await aConsole()
  const follows = await streamsOf(running)
  const [own, ...taken] = [follows('ada'), follows('mallory'), follows('mallory')]
  for (const stream of [own, ...taken]) await isOpen(stream)
  const second = follows('bob')
  await isOpen(second)
  await expect.poll(() => taken.filter((s) => s.isEnded).length).toBe(1)
  expect(byeOf(taken.find((s) => s.isEnded) as EventStream)?.message).toContain(
    'all 3 places of this console are taken',
  )
  // Three people, one place each: mallory only moves their own, and a fourth person waits.
  const moved = follows('mallory')
  await isOpen(moved)
  await expect.poll(() => taken.every((s) => s.isEnded)).toBe(true)
  expect([own, second].map((s) => s.isEnded)).toEqual([false, false])
  const refused = await (
    await asPerson(running)
  ).ask(`/events?topics=${TOPIC}`, { headers: { 'x-remote-user': 'carol' } })
  expect([refused.status, JSON.parse(refused.text) as Refusal]).toEqual([
    503,
    {
      code: 'TooManyStreams',
      message:
        '3 people follow this console, and it can serve no more of them with live changes; wait until one of them closes the page',
    },
  ])
  own.close()
  await expect
    .poll(async () => {
      const carol = follows('carol')
      await expect.poll(() => carol.status).toBeDefined()
      carol.close()
      return carol.status
    })
    .toBe(200)
  for (const stream of [second, moved]) stream.close()
  await running.stop()
})

test('a topic has one spelling, so that no person makes the console compute and remember it many times (S35)', async () => {
  const { port } = await world.role({})
  const mallory = await signedIn(port, 'mallory')
  const spellings = [
    'h%6fme',
    'h%6Fme',
    '%68ome',
    `machine%73/${CLUSTER}`,
    `machines/${CLUSTER.replace('t', '%74')}`,
    `${TOPIC}/`,
  ]
  for (const topic of spellings) {
    expect((await mallory.ask(`/api/topic/${topic}`)).status, topic).toBe(404)
    expect((await mallory.ask(`/api/past?topic=${encodeURIComponent(topic)}&at=1`)).status, topic).toBe(404)
    expect((await mallory.ask(`/events?topics=${encodeURIComponent(topic)}`)).status, topic).toBe(404)
  }
})

test('a person who asks and asks and reads nothing does not fill the memory, and no other person waits (S35)', async () => {
  const { port } = await world.role({})
  const [ada, mallory] = [await signedIn(port, 'ada'), await signedIn(port, 'mallory')]
  const sessions = Array.from({ length: 8 }, () =>
    connect(`https://127.0.0.1:${port}`, {
      ca: world.authority.cert,
      servername: HOST,
      // Nothing of a body may be sent, and the headers show what became of the question.
      settings: { initialWindowSize: 0 },
    }),
  )
  const statuses: unknown[] = []
  for (const session of sessions)
    for (let n = 0; n < 50; n++)
      session
        .request({ ':path': `/api/topic/${TOPIC}`, ':authority': `${HOST}:${port}`, cookie: mallory.cookies })
        .on('response', (headers) => statuses.push(headers[':status']))
        .on('error', () => undefined)
  await expect.poll(() => statuses.length).toBe(400)
  expect(statuses.filter((status) => status === 200)).toHaveLength(256)
  expect(statuses.filter((status) => status === 503)).toHaveLength(144)
  expect((await ada.ask(`/api/topic/${TOPIC}`)).status).toBe(200)
  for (const session of sessions) session.destroy()
  await expect.poll(async () => (await mallory.ask(`/api/topic/${TOPIC}`)).status).toBe(200)
})

test('a stranger who holds every connection keeps no person out (S35)', async () => {
  const running = await aConsole()
  const own = (await streamsOf(running))('ada')
  await isOpen(own)
  const held = Array.from({ length: 3 * CONNECTIONS }, () =>
    connectSocket(running.port, '127.0.0.1').on('error', () => undefined),
  )
  await expect.poll(() => held.filter((s) => s.destroyed).length).toBeGreaterThanOrEqual(2 * CONNECTIONS)
  const answer = await (await asPerson(running)).ask(`/api/topic/${TOPIC}`, { headers: { 'x-remote-user': 'bob' } })
  expect(answer.status).toBe(200)
  expect(own.isEnded).toBe(false)
  for (const socket of held) socket.destroy()
  own.close()
  await running.stop()
})

/** Three places, two for a person, behind a proxy that names people. */
const aConsole = (): Promise<RunningConsole> =>
  startConsole({
    clients: new Map([[CLUSTER, world.admin]]),
    page: NO_PAGE,
    version: '0.0.0',
    host: '127.0.0.1',
    port: 0,
    names: [HOST],
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    streams: { all: 3, ofPerson: 2 },
    connections: CONNECTIONS,
    signIn: {
      proxy: new ProxyPeople(
        { names: ['front'], userHeader: 'x-remote-user', groupHeader: 'x-remote-group', users: PEOPLE, groups: [] },
        (_, identity) => (identity.kind === 'Impersonated' ? world.clientAs(identity.user) : undefined),
        [CLUSTER],
      ),
      tls: {
        pair: async () => ({
          cert: await readFile(world.files.cert, 'utf8'),
          key: await readFile(world.files.key, 'utf8'),
        }),
        clientCa: proxies.cert,
      },
    },
  })

const asPerson = async ({ port }: RunningConsole): Promise<Browser> =>
  world.browser(port, await proxies.client('front'))

async function streamsOf({ port }: RunningConsole) {
  const files = { ...world.tls, ...(await proxies.client('front')) }
  const { host, ...keys } = files
  return (person: (typeof PEOPLE)[number]): EventStream =>
    new EventStream({
      ...keys,
      port,
      servername: host,
      path: `/events?topics=${TOPIC}`,
      headers: { host: `${HOST}:${port}`, 'x-remote-user': person },
    })
}
