// Two people with different rights at one console: what one of them reads fills caches that both share, and the other finds nothing in it. (S35)
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { RIGHT_ENDS_WITHIN_MS } from '#console/server/access.ts'
import type { MachinesTopic, SearchAnswer } from '#console/protocol.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'
import type { Browser, EventStream } from '#test/support/console/plain-browser.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld

/** Part of everything that the second person may not read. */
const WORD = 'topsecret'
const ALL = ['get', 'list', 'watch']
const EVERY_KIND = '*'

beforeAll(async () => {
  world = await peopleWorld()
  await world.allow('chief', [EVERY_KIND], ALL)
  await world.allow('visitor', ['machines'], ALL)
  await world.admin.create(machine, newMachine('n-1'))
  await world.admin.create(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name: `${WORD}-set` },
    spec: { selector: { matchLabels: { none: 'here' } }, components: [{ name: 'beacon', version: '1.0.0' }] },
  } as unknown as MachineComponentSet)
  await world.admin.create(operationalHold, newHold(`${WORD}-hold`))
})
afterAll(() => world.stop())

const newMachine = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

const newHold = (name: string): OperationalHold => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationalHold',
  metadata: { name },
  spec: {
    target: { kind: 'Machine', name: 'n-1' },
    effect: 'Freeze',
    reason: `because of ${WORD}`,
    author: ADMIN,
    until: '2099-01-01T00:00:00Z',
  },
})

async function signedIn(port: number, name: string): Promise<Browser> {
  const browser = world.browser(port)
  const body = { token: await world.tokenOf(name) }
  expect((await browser.ask('/api/sign-in', { method: 'POST', body })).status).toBe(200)
  return browser
}

const TOPICS = [
  'home',
  'pipeline',
  'clusters',
  'commits',
  ...['machines', 'sets', 'budgets', 'repairs', 'maintenance'].map((family) => `${family}/${CLUSTER}`),
  `set/${CLUSTER}/${WORD}-set`,
  `node/${CLUSTER}/n-1`,
]

/** Everything that can be asked for, in one text. */
async function allThatIsSeen(browser: Browser): Promise<string> {
  const texts: string[] = []
  for (const path of [
    '/api/session',
    ...TOPICS.map((topic) => `/api/topic/${topic}`),
    ...TOPICS.map((topic) => `/api/past?topic=${topic}&at=${Date.now()}`),
    ...TOPICS.map((topic) => `/api/past?topic=${topic}&from=1&to=${Date.now()}`),
    '/api/search?q=secret',
    '/api/search?q=n-1',
    `/api/why?cluster=${CLUSTER}&kind=MachineComponentSet&name=${WORD}-set`,
    `/api/why?cluster=${CLUSTER}&kind=Machine&name=n-1`,
    '/api/plan?commit=main',
    `/api/load?cluster=${CLUSTER}&machines=n-1`,
    ...['fleet', 'pool', 'repairs', 'release'].map((kind) => `/api/report?cluster=${CLUSTER}&kind=${kind}&since=7d`),
  ]) {
    const { text } = await browser.ask(path)
    // What was asked for is in a refusal.
    texts.push(path.includes(`${WORD}-set`) ? text.replaceAll(`${WORD}-set`, '') : text)
  }
  return texts.join('\n')
}

const sentTo = (stream: EventStream): string => stream.events.map(({ data }) => data).join('\n')

test('what one person reads and follows is in no answer and no change for the other (S35)', async () => {
  const { port } = await world.role({})
  const [chief, visitor] = [await signedIn(port, 'chief'), await signedIn(port, 'visitor')]
  await expect.poll(async () => (await chief.ask(`/api/topic/node/${CLUSTER}/n-1`)).text).toContain(WORD)
  await expect.poll(async () => (await chief.ask(`/api/topic/sets/${CLUSTER}`)).text).toContain(WORD)
  expect(await allThatIsSeen(chief)).toContain(WORD)
  expect((await visitor.topic<MachinesTopic>(`machines/${CLUSTER}`)).names).toEqual(['n-1'])
  expect((await visitor.json<SearchAnswer>('/api/search?q=n-1')).hits).toHaveLength(1)
  expect((await visitor.ask(`/api/topic/node/${CLUSTER}/n-1`)).status).toBe(200)
  expect(await allThatIsSeen(visitor)).not.toContain(WORD)
  const own = ['home', 'pipeline', 'clusters', 'commits', `machines/${CLUSTER}`, `node/${CLUSTER}/n-1`]
  const [all, fewer] = [chief.stream([...own, `sets/${CLUSTER}`]), visitor.stream(own)]
  await expect.poll(() => [all.status, fewer.status]).toEqual([200, 200])
  await world.admin.create(operationalHold, {
    ...newHold(`${WORD}-more`),
    spec: {
      ...newHold('').spec,
      target: { kind: 'MachineComponentSet', name: `${WORD}-set` },
    },
  })
  await world.admin.create(machine, newMachine('n-2'))
  await expect.poll(() => sentTo(all)).toContain(WORD)
  await expect.poll(() => sentTo(fewer)).toContain('n-2')
  expect(sentTo(fewer)).not.toContain(WORD)
  expect(await allThatIsSeen(visitor)).not.toContain(WORD)
  for (const stream of [all, fewer]) stream.close()
})

test('a report that one person asked for is not the answer for another with fewer rights (S35)', async () => {
  await world.allow('chief', ['nodes'], ['list'], '')
  const { port } = await world.role({})
  const [chief, visitor] = [await signedIn(port, 'chief'), await signedIn(port, 'visitor')]
  const report = `/api/report?cluster=${CLUSTER}&kind=fleet&since=7d`
  await expect.poll(async () => (await chief.ask(report)).status).toBe(200)
  expect((await visitor.ask(report)).status).toBe(403)
  expect((await visitor.ask('/api/report?cluster=elsewhere&kind=fleet&since=7d')).status).toBe(404)
  expect((await chief.ask(`/api/report?cluster=${CLUSTER}&kind=fleet&since=400d`)).status).toBe(400)
})

test('a right that is taken away ends what is sent, within the time that is named (S35)', async () => {
  expect(RIGHT_ENDS_WITHIN_MS).toBe(80_000)
  await world.allow('guest', ['machines', 'machinecomponentsets'], ALL)
  await world.allow('guest', ['operationalholds'], ALL)
  const { port } = await world.role({}, undefined, fastClock(40))
  const guest = await signedIn(port, 'guest')
  const topics = [`sets/${CLUSTER}`, `node/${CLUSTER}/n-1`]
  await expect.poll(async () => (await guest.ask(`/api/topic/${topics[1]}`)).text).toContain(WORD)
  const stream = guest.stream(topics)
  await expect.poll(() => stream.status).toBe(200)
  const group = 'rbac.authorization.k8s.io'
  const plural = 'clusterrolebindings'
  const binding = { group, version: 'v1', kind: 'ClusterRoleBinding', plural, namespaced: false }
  // Of a kind that only adds to what is shown: the topics stay the same.
  await world.admin.delete(binding, { name: 'guest-operationalholds-get' })
  await expect.poll(() => stream.isEnded).toBe(true)
  expect(stream.events.slice(-2).map(({ event }) => event)).toEqual(['session', 'bye'])
  expect((await guest.ask(`/api/topic/${topics[1]}`)).text).not.toContain(WORD)
  const again = guest.stream(topics)
  await expect.poll(() => again.status).toBe(200)
  await world.admin.delete(binding, { name: 'guest-machines-get' })
  await expect.poll(() => again.isEnded).toBe(true)
  expect(await allThatIsSeen(guest)).not.toContain(WORD)
  for (const topic of topics) expect((await guest.ask(`/events?topics=${topic}`)).status, topic).toBe(404)
})

test('what was read with other rights is read again, also when others with the new rights were there before (S35)', async () => {
  const { port } = await world.role({}, undefined, fastClock(60))
  const chief = await signedIn(port, 'chief')
  await world.allow('promoted', ['machines'], ALL)
  const promoted = await signedIn(port, 'promoted')
  // The log of those who may read everything begins before the other person reads anything.
  await chief.topic('home')
  const before = await promoted.topic('home')
  const { digest } = await promoted.session()
  await world.allow('promoted', [EVERY_KIND], ALL)
  await expect.poll(async () => (await promoted.session()).clusters[0]?.topics).toContain('sets')
  const stream = promoted.stream(['home'], before.revision)
  await expect.poll(() => stream.resyncs.flatMap((r) => r.topics)).toEqual(['home'])
  expect(stream.events.map((e) => e.event)).toEqual(['resync', 'session'])
  const now = await promoted.topic('home')
  const again = promoted.stream(['home'], now.revision)
  await expect.poll(() => again.status).toBe(200)
  expect(again.resyncs).toEqual([])
  // A page that goes from view to view opens each stream with the new rights: none of them sees a change.
  const moving = promoted.stream(['home'], undefined, undefined, digest)
  await expect.poll(() => moving.events.map((e) => e.event)).toContain('session')
  const knowing = promoted.stream(['home'], now.revision, undefined, (await promoted.session()).digest)
  await expect.poll(() => knowing.status).toBe(200)
  expect(knowing.events.map((e) => e.event)).not.toContain('session')
  for (const s of [stream, again, moving, knowing]) s.close()
})

test('headers that name another person change nobody (S35)', async () => {
  const { port } = await world.role({})
  const [chief, visitor] = [await signedIn(port, 'chief'), await signedIn(port, 'visitor')]
  const token = await world.tokenOf('chief')
  await expect.poll(async () => (await chief.ask(`/api/topic/sets/${CLUSTER}`)).text).toContain(WORD)
  const tries: readonly Readonly<Record<string, string>>[] = [
    { 'impersonate-user': 'system:serviceaccount:default:chief', 'impersonate-group': 'system:masters' },
    { 'impersonate-uid': '1', 'impersonate-extra-scopes': 'all', 'impersonate-user': 'admin' },
    { authorization: `Bearer ${token}` },
    { 'x-remote-user': 'chief', 'x-remote-group': 'system:masters' },
    { 'x-forwarded-user': 'chief', forwarded: 'for=127.0.0.1;by=chief' },
    { 'x-forwarded-for': '127.0.0.1', 'x-original-url': `/api/topic/sets/${CLUSTER}` },
  ]
  for (const headers of tries) {
    const session = await visitor.ask('/api/session', { headers })
    expect(session.text, JSON.stringify(headers)).toContain('system:serviceaccount:default:visitor')
    expect((await visitor.ask(`/api/topic/sets/${CLUSTER}`, { headers })).status).toBe(404)
    expect((await visitor.ask(`/api/topic/node/${CLUSTER}/n-1`, { headers })).text).not.toContain(WORD)
    expect((await world.browser(port).ask('/api/session', { headers })).status, JSON.stringify(headers)).toBe(401)
  }
  // A cookie that is set twice, guessed, or another person's without the cookie: the first that is there counts.
  const [name = '', own = ''] = visitor.cookies.split('=')
  for (const cookie of [
    `${name}=`,
    `${name}=${own}x`,
    `${name}=${own.slice(1)}`,
    `x${name}=${own}`,
    `${name}=forged; ${name}=${own}`,
  ])
    expect((await world.browser(port).ask('/api/session', { headers: { cookie } })).status, cookie).toBe(401)
})

test('a cluster of which a person may read nothing is not named to them, whatever its state (S35)', async () => {
  const account = await world.tokenOf('powerless')
  const { server } = world
  const own = { server: server.url, ca: { data: server.ca }, token: { data: account } }
  const { port } = await world.role({}, own)
  // The console itself may read nothing here: its cluster is Refused, with a text about its own account.
  const stranger = await signedIn(port, 'stranger')
  const chief = await signedIn(port, 'chief')
  await expect.poll(async () => (await chief.session()).clusters[0]?.state).toBe('Refused')
  expect((await chief.session()).clusters[0]?.message).toContain('powerless')
  expect((await stranger.session()).clusters).toEqual([])
  for (const path of ['/api/topic/home', '/api/topic/clusters', `/api/search?q=${CLUSTER}`])
    expect((await stranger.ask(path)).text, path).not.toContain('powerless')
})
test('people may not be told apart by what they may not know: missing and forbidden are one answer (S35)', async () => {
  const { port } = await world.role({})
  const visitor = await signedIn(port, 'visitor')
  const answerTo = async (topic: string) => {
    const { status, text } = await visitor.ask(`/api/topic/${topic}`)
    return [status, text.replaceAll(topic, 'TOPIC')]
  }
  const there = await answerTo(`set/${CLUSTER}/${WORD}-set`)
  expect(there[0]).toBe(404)
  for (const topic of [`set/${CLUSTER}/none`, 'set/nowhere/none', `sets/${CLUSTER}`, 'sets/nowhere', 'nothing'])
    expect(await answerTo(topic), topic).toEqual(there)
})
