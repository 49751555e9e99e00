// The console against other sites, strange hosts, hostile names and people with fewer rights.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { MachinesTopic, SearchAnswer, WhyAnswer, Written } from '#console/protocol.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ConsoleWorld, consoleWorld } from '#test/support/console/console-world.ts'
import { Browser } from '#test/support/console/plain-browser.ts'

let world: ConsoleWorld

const REPORT = '<img src=x onerror=alert(1)>\u202e"\'`${1}'

beforeAll(async () => {
  world = await consoleWorld()
  await world.admin.create(machine, newMachine('n-1'))
  await world.admin.create(machineComponentSet, SET)
  for (const [user, resources, verbs] of [
    ['reader', ['machines'], ['get', 'list', 'watch']],
    ['holder', ['machines', 'machinecomponentsets', 'remedyoperationjobs'], ['get', 'list', 'watch']],
    ['holder', ['operationalholds'], ['create', 'list', 'get', 'watch']],
  ] as const)
    await allow(user, resources, verbs)
})
afterAll(() => world.stop())

const newMachine = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

const SET = {
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: { selector: { matchLabels: { none: 'here' } }, components: [{ name: 'beacon', version: '1.0.0' }] },
} as unknown as MachineComponentSet

async function allow(user: string, resources: readonly string[], verbs: readonly string[]): Promise<void> {
  const name = `${user}-${resources[0]}`
  const group = 'rbac.authorization.k8s.io'
  await world.admin.create(coreKind('ClusterRole'), {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [{ apiGroups: ['kubenode.io'], resources, verbs }],
  })
  await world.admin.create(
    { group, version: 'v1', kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', apiGroup: group, name: user }],
    },
  )
}

async function browserOf(client: KubeClient): Promise<Browser> {
  const running = await world.console(new Map([['test', client]]))
  const browser = new Browser(running.port)
  await browser.open(running.newLink())
  await expect.poll(async () => (await browser.session()).clusters[0]?.state).toBe('Connected')
  return browser
}

const hold = (name = 'base') => ({
  cluster: 'test',
  effect: 'Pause',
  target: { kind: 'MachineComponentSet', name },
  reason: REPORT,
  until: Date.now() + 3_600_000,
})

test('people see what they may read, and nothing else (S35)', async () => {
  const [reader, stranger] = [await browserOf(world.clientAs('reader')), world.clientAs('stranger')]
  const [own] = (await reader.session()).clusters
  expect(own).toMatchObject({ topics: ['clusters', 'home', 'machines', 'node'], holds: [], canApprove: false })
  expect((await reader.topic<MachinesTopic>('machines/test')).names).toEqual(['n-1'])
  for (const path of [
    '/api/topic/sets/test',
    '/api/topic/budgets/test',
    '/events?topics=set/test/base',
    '/api/past?topic=sets/test&at=1',
  ])
    expect((await reader.ask(path)).status, path).toBe(404)
  expect((await reader.json<SearchAnswer>('/api/search?q=base')).hits).toEqual([])
  expect((await reader.json<SearchAnswer>('/api/search?q=n-1')).hits).toHaveLength(1)
  expect((await reader.ask('/api/why?cluster=test&kind=MachineComponentSet&name=base')).status).toBe(403)
  const why = await reader.ask('/api/why?cluster=test&kind=Machine&name=n-1')
  expect(why.status).toBe(200)
  expect(why.text).toContain('Not included: operationalholds.kubenode.io; you lack the right to list them')
  const other = await world.console(new Map([['test', stranger]]))
  const nobody = new Browser(other.port)
  await nobody.open(other.newLink())
  await expect.poll(async () => (await nobody.session()).clusters[0]?.state).toBe('Refused')
  expect((await nobody.ask('/api/topic/machines/test')).status).toBe(404)
})

test('a hold is written with the rights of the person, and refused without them', async () => {
  const [reader, holder] = [await browserOf(world.clientAs('reader')), await browserOf(world.clientAs('holder'))]
  const written = await holder.json<Written>('/api/hold', { method: 'POST', body: hold() })
  const made = await world.admin.get(operationalHold, { name: written.name })
  expect(made?.spec).toMatchObject({ author: 'holder', reason: REPORT })
  const refused = await reader.ask('/api/hold', { method: 'POST', body: hold() })
  expect(refused.status).toBe(403)
  expect(refused.text).toContain('reader')
  await expect.poll(async () => (await holder.ask('/api/topic/set/test/base')).text).toContain('"effect":"Pause"')
})

test('a hold is lifted with the rights of the person, and refused without them; nothing else is deleted so', async () => {
  const [admin, holder] = [await browserOf(world.admin), await browserOf(world.clientAs('holder'))]
  const { name } = await holder.json<Written>('/api/hold', { method: 'POST', body: hold() })
  const lift = (browser: Browser, what: string) =>
    browser.ask('/api/lift', { method: 'POST', body: { cluster: 'test', name: what } })
  expect((await holder.session()).clusters[0]).toMatchObject({ canLift: false })
  expect((await lift(holder, name)).status).toBe(403)
  expect(await world.admin.get(operationalHold, { name })).toBeDefined()
  expect((await admin.session()).clusters[0]).toMatchObject({ canLift: true })
  for (const path of ['../machines/n-1', 'a/b', '']) expect((await lift(admin, path)).status, path).toBe(422)
  expect((await lift(admin, name)).status).toBe(200)
  expect(await world.admin.get(operationalHold, { name })).toBeUndefined()
  expect((await lift(admin, name)).status).toBe(404)
})

test('a rebound name, another site and a form reach nothing (S35)', async () => {
  const browser = await browserOf(world.admin)
  const before = (await world.admin.list(operationalHold)).items.length
  const post = { method: 'POST', body: hold('other') }
  const tries: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
    [421, { host: 'evil.example' }],
    [403, { 'sec-fetch-site': 'cross-site' }],
    [403, { 'sec-fetch-site': 'same-site' }],
    [403, { origin: 'http://127.0.0.1:1' }],
    [403, { origin: 'null' }],
    [415, { 'content-type': 'text/plain' }],
    [415, { 'content-type': 'application/x-www-form-urlencoded' }],
  ]
  for (const [status, headers] of tries) {
    expect((await browser.ask('/api/hold', { ...post, headers })).status, JSON.stringify(headers)).toBe(status)
    if (status !== 415) expect((await browser.ask('/api/session', { headers })).status).toBe(status)
  }
  expect((await browser.ask('/', { headers: { host: 'evil.example' } })).status).toBe(421)
  expect((await world.admin.list(operationalHold)).items).toHaveLength(before)
})

test('every answer says that it is framed, guessed and loaded by nothing else', async () => {
  const browser = await browserOf(world.admin)
  for (const path of ['/', '/any/view?x=1', '/api/session', '/api/topic/none', '/a/0123456789abcdef/page/main.ts']) {
    const { headers } = await browser.ask(path)
    expect(headers['x-content-type-options'], path).toBe('nosniff')
    expect(headers['cross-origin-opener-policy'], path).toBe('same-origin')
    expect(headers['access-control-allow-origin'], path).toBeUndefined()
    if (!path.startsWith('/a/')) expect(headers['content-security-policy'], path).toContain("default-src 'none'")
    if (path.startsWith('/api/')) expect(headers['cache-control'], path).toBe('no-store')
  }
})

test('names that are paths, queries or secrets name nothing', async () => {
  const browser = await browserOf(world.admin)
  const paths = [
    '/a/0123456789abcdef/../../package.json',
    '/a/0123456789abcdef/%2e%2e%2fpackage.json',
    '/api/topic/node/test/..%2f..%2fapi%2fv1%2fsecrets',
    '/api/topic/machines/%00',
    '/api/topic/machines/%zz',
    '/api/why?cluster=test&kind=Secret&name=a&namespace=default',
    '/api/why?cluster=test&kind=Machine&name=..%2f..%2fsecrets',
    '/api/why?cluster=__proto__&kind=Machine&name=a',
    '/api/topic/__proto__',
    `/api/topic/${'x'.repeat(700)}`,
  ]
  for (const path of paths) expect((await browser.ask(path)).status, path).toBe(404)
  expect((await browser.ask('/link/short')).status).toBe(200)
  const tree = await browser.json<WhyAnswer>('/api/why?cluster=test&kind=Machine&name=n-1')
  expect(tree).toMatchObject({
    command: 'kubenode why machine/n-1 --context test',
    tree: { text: expect.stringContaining('machine n-1') as string },
  })
})

test('five hundred streams are served, and one more takes the place of the oldest (S35)', async () => {
  const running = await world.console(new Map([['test', world.admin]]))
  const browser = new Browser(running.port)
  await browser.open(running.newLink())
  const streams = [...Array(500).keys()].map(() => browser.stream(['machines/test']))
  await expect.poll(() => streams.filter((s) => s.status === 200).length).toBe(500)
  const before = streams.map((s) => s.deltas.length)
  await world.admin.create(machine, newMachine('n-500'))
  await expect.poll(() => streams.every((s, i) => s.deltas.length > (before[i] ?? 0))).toBe(true)
  const more = browser.stream(['machines/test'])
  await expect.poll(() => [more.status, streams.filter((s) => s.isEnded).length]).toEqual([200, 1])
  expect(streams.find((s) => s.isEnded)?.events.at(-1)).toMatchObject({
    event: 'bye',
    data: expect.stringContaining('TooManyStreams') as string,
  })
  for (const stream of [...streams, more]) stream.close()
})
