// The console behind a proxy that signs people in: other ways to the pod, forged headers, and names that are not listed. (S35)
import { afterAll, beforeAll, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { Session, Written } from '#console/protocol.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'
import { type CertificateAuthority, newAuthority } from '#test/support/servers/tls.ts'
import { EventStream } from '#test/support/console/plain-browser.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld
let proxies: CertificateAuthority
let port: number
let connection: ConnectionConfig

beforeAll(async () => {
  ;[world, proxies] = await Promise.all([peopleWorld(), newAuthority('proxy-ca')])
  await world.allow('user:ada', ['operationalholds'], ['create', 'list', 'get', 'watch'])
  await world.allow('group:readers', ['machines', 'machinecomponentsets'], ['get', 'list', 'watch'])
  await world.allow('user:system:kube-scheduler', ['releases'], ['get', 'list', 'watch'])
  await world.allow('console', ['machines'], ['get', 'list', 'watch'])
  // As the installation makes it: names are listed, and nothing else may be impersonated.
  const rbac = 'rbac.authorization.k8s.io'
  await world.admin.create(coreKind('ClusterRole'), {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'console-impersonates' },
    rules: [
      { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['ada', 'bob'] },
      { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['readers'] },
    ],
  })
  await world.admin.create(
    { group: rbac, version: 'v1', kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'console-impersonates' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'console-impersonates' },
      subjects: [{ kind: 'ServiceAccount', name: 'console', namespace: 'default' }],
    },
  )
  const { server } = world
  connection = { server: server.url, ca: { data: server.ca }, token: { data: await world.tokenOf('console') } }
  port = (await world.role(settings(), connection)).port
})
afterAll(() => world.stop())

const settings = () => ({
  proxy: {
    clientCa: proxies.cert,
    names: ['front'],
    users: ['ada', 'bob', 'carol'],
    groups: ['readers', 'unlisted'],
  },
})

const throughProxy = async (name = 'front', authority = proxies) => world.browser(port, await authority.client(name))
const asPerson = (user: string, ...groups: readonly string[]) => ({
  headers: { 'x-remote-user': user, ...(groups.length > 0 && { 'x-remote-group': groups.join(', ') }) },
})

test('the person whom the proxy names has exactly the rights of that person (S35)', async () => {
  const browser = await throughProxy()
  const session = await browser.json<Session>('/api/session', asPerson('ada', 'readers', 'system:masters'))
  expect(session.person).toEqual({ name: 'ada', groups: ['readers'], how: 'Proxy' })
  expect(session.clusters[0]?.holds.length).toBeGreaterThan(0)
  const body = {
    cluster: CLUSTER,
    effect: 'Freeze',
    target: { kind: 'Machine', name: 'n-1' },
    reason: 'a test',
    until: Date.now() + 3_600_000,
  }
  const written = await browser.json<Written>('/api/hold', { method: 'POST', body, ...asPerson('ada', 'readers') })
  expect((await world.admin.get(operationalHold, { name: written.name }))?.spec.author).toBe('ada')
  expect((await browser.ask('/api/hold', { method: 'POST', body, ...asPerson('bob', 'readers') })).status).toBe(403)
})

test('who is signed out at the proxy, or leaves a group, sees nothing new after the time that is named (S35)', async () => {
  const fast = await world.role(settings(), connection, fastClock(40))
  const { host, ...keys } = { ...world.tls, ...(await proxies.client('front')) }
  const follow = (since: string, ...groups: readonly string[]): EventStream =>
    new EventStream({
      ...keys,
      port: fast.port,
      servername: host,
      path: `/events?topics=sets/${CLUSTER}&since=${since}`,
      headers: { host: `${host}:${fast.port}`, ...asPerson('bob', ...groups).headers },
    })
  const stream = follow('', 'readers')
  await expect.poll(() => stream.status).toBe(200)
  await expect.poll(() => stream.isEnded).toBe(true)
  expect(stream.events.at(-1)).toMatchObject({ event: 'bye', data: '{"reason":"AskAgain"}' })
  const again = follow(stream.lastId ?? '', 'readers')
  await expect.poll(() => again.status).toBe(200)
  expect(again.resyncs).toEqual([])
  again.close()
  const without = follow(stream.lastId ?? '')
  await expect.poll(() => without.status).toBe(404)
})

test('nothing but the proxy reaches the page (S35)', async () => {
  const strangers = await newAuthority('proxy-ca')
  await expect(world.browser(port).ask('/', asPerson('ada'))).rejects.toThrow()
  await expect((await throughProxy('front', strangers)).ask('/', asPerson('ada'))).rejects.toThrow()
  expect((await (await throughProxy('back')).ask('/api/session', asPerson('ada'))).status).toBe(403)
})

test('names that are forged, missing, doubled or not listed are nobody (S35)', async () => {
  const browser = await throughProxy()
  expect((await browser.ask('/api/session')).status).toBe(401)
  for (const user of ['system:kube-scheduler', 'system:serviceaccount:kube-system:x', 'eve', 'ada, bob', 'ada,'])
    expect((await browser.ask('/api/session', asPerson(user, 'readers'))).status, user).toBe(403)
  const twice = { headers: { 'x-remote-user': ['ada', 'bob'] as unknown as string } }
  expect((await browser.ask('/api/session', twice)).status).toBe(401)
  // Listed in the file, and not in the role of the console: the API server refuses.
  const carol = await browser.json<Session>('/api/session', asPerson('carol', 'readers'))
  expect(carol.clusters.flatMap((c) => c.topics)).toEqual([])
  const unlisted = await browser.json<Session>('/api/session', asPerson('ada', 'unlisted'))
  expect(unlisted.clusters.flatMap((c) => c.topics)).toEqual([])
})

test('behind a proxy there are no other doors, and no requests of other sites (S35)', async () => {
  const browser = await throughProxy()
  const post = { method: 'POST', body: { token: await world.tokenOf('console') } }
  expect((await browser.ask('/api/sign-in', post)).status).toBe(404)
  expect((await browser.ask('/oidc/start')).status).toBe(404)
  expect((await browser.ask('/oidc/back?code=a&state=b')).status).toBe(404)
  const { headers } = asPerson('ada', 'readers')
  const foreign = { ...headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  expect((await browser.ask('/api/hold', { method: 'POST', body: {}, headers: foreign })).status).toBe(403)
  expect((await browser.ask('/api/session', { headers: { ...headers, host: 'evil.example' } })).status).toBe(421)
})
