// The console as a role, for people who sign in: tokens, rights of each person, certificates that change, and what ends a session.
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { MachinesTopic, Written } from '#console/protocol.ts'
import type { Browser } from '#test/support/console/plain-browser.ts'
import { CLUSTER, HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { defined } from '#lib/defined.ts'

let world: PeopleWorld

beforeAll(async () => {
  world = await peopleWorld()
  await world.admin.create(machine, newMachine('n-1'))
  await world.allow('reader', ['machines'], ['get', 'list', 'watch'])
  await world.allow('holder', ['machines', 'operationalholds'], ['get', 'list', 'watch', 'create'])
})
afterAll(() => world.stop())

const newMachine = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

const signIn = (browser: Browser, token: string, cluster?: string) =>
  browser.ask('/api/sign-in', { method: 'POST', body: { token, ...defined({ cluster }) } })

const hold = {
  cluster: CLUSTER,
  effect: 'Freeze',
  target: { kind: 'Machine', name: 'n-1' },
  reason: 'a test',
  until: Date.now() + 3_600_000,
}

test('a token opens a session with the rights of its owner, in a cookie for this host alone', async () => {
  const { port } = await world.role({})
  const [reader, holder] = [world.browser(port), world.browser(port)]
  expect(JSON.parse((await reader.ask('/api/sign-in')).text)).toEqual({ ways: ['Token'] })
  for (const path of ['/api/session', '/api/topic/home', '/events?topics=home'])
    expect((await reader.ask(path)).status, path).toBe(401)
  const answer = await signIn(reader, await world.tokenOf('reader'))
  expect(answer.status).toBe(200)
  expect(answer.headers['set-cookie']?.[0]).toMatch(
    /^__Host-kubenode-console=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
  )
  expect(answer.headers['strict-transport-security']).toBeDefined()
  await signIn(holder, await world.tokenOf('holder'))
  const session = await reader.session()
  expect(session.person).toMatchObject({ name: 'system:serviceaccount:default:reader', how: 'Token' })
  expect(session.expires).toBeGreaterThan(Date.now())
  await expect.poll(async () => (await reader.topic<MachinesTopic>(`machines/${CLUSTER}`)).names).toEqual(['n-1'])
  expect((await reader.session()).clusters[0]).toMatchObject({ holds: [] })
  expect((await reader.ask(`/api/topic/sets/${CLUSTER}`)).status).toBe(404)
  expect((await reader.ask('/api/hold', { method: 'POST', body: hold })).status).toBe(403)
  const written = await holder.json<Written>('/api/hold', { method: 'POST', body: hold })
  const made = await world.admin.get(operationalHold, { name: written.name })
  expect(made?.spec.author).toBe('system:serviceaccount:default:holder')
})

test('a session ends with a sign-out, and its cookie is worth nothing after', async () => {
  const { port } = await world.role({})
  const browser = world.browser(port)
  await signIn(browser, await world.tokenOf('reader'))
  const cookie = browser.cookies
  const stream = browser.stream(['home'])
  await expect.poll(() => stream.status).toBe(200)
  expect((await browser.ask('/api/sign-out', { method: 'POST', body: {} })).status).toBe(200)
  expect(browser.cookies).toBe('')
  expect((await browser.ask('/api/session', { headers: { cookie } })).status).toBe(401)
  await expect.poll(() => stream.isEnded).toBe(true)
})

test('what is no token of this cluster opens nothing', async () => {
  const { port } = await world.role({})
  const browser = world.browser(port)
  const good = await world.tokenOf('reader')
  for (const [status, token] of [
    [422, ''],
    [422, 'a b'],
    [422, `${good}\r\nx-more: 1`],
    [422, 'x'.repeat(12_289)],
    [403, 'abcdef.0123456789abcdef'],
    [403, `${good.slice(0, -4)}AAAA`],
  ] as const)
    expect((await signIn(browser, token)).status, token.slice(0, 20)).toBe(status)
  expect(browser.cookies).toBe('')
  expect((await browser.ask('/api/sign-in', { method: 'POST', body: { token: 7 } })).status).toBe(422)
  const off = await world.role({ tokens: false })
  expect((await signIn(world.browser(off.port), good)).status).toBe(404)
})

test('another cluster needs a token of its own, which that cluster alone is sent', async () => {
  const second = await peopleWorld()
  await second.allow('reader', ['machines'], ['get', 'list', 'watch'])
  const kubeconfig = join(world.folder, 'clusters')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'edge',
      clusters: [
        { name: 'c', cluster: { server: second.server.url, 'certificate-authority-data': b64(second.server.ca) } },
      ],
      users: [
        {
          name: 'u',
          user: { 'client-certificate-data': b64(second.server.cert), 'client-key-data': b64(second.server.key) },
        },
      ],
      contexts: [{ name: 'edge', context: { cluster: 'c', user: 'u' } }],
    }),
    { mode: 0o600 },
  )
  const { port } = await world.role({ clusters: kubeconfig })
  const browser = world.browser(port)
  await signIn(browser, await world.tokenOf('reader'))
  const edge = async () => (await browser.session()).clusters.find(({ name }) => name === 'edge')
  expect(await edge()).toMatchObject({ state: 'SignedOut', topics: [] })
  expect((await browser.ask('/api/topic/machines/edge')).status).toBe(404)
  expect((await signIn(browser, await world.tokenOf('reader'), 'edge')).status).toBe(403)
  expect((await signIn(browser, await second.tokenOf('reader'), 'other')).status).toBe(404)
  expect((await signIn(world.browser(port), await second.tokenOf('reader'), 'edge')).status).toBe(401)
  expect((await signIn(browser, await second.tokenOf('reader'), 'edge')).status).toBe(200)
  await expect.poll(async () => (await edge())?.state).toBe('Connected')
  expect((await browser.topic<MachinesTopic>('machines/edge')).names).toEqual([])
  await second.stop()
})

const b64 = (text: string): string => Buffer.from(text).toString('base64')

test('the page is served over HTTP/2, and a new certificate without a restart', async () => {
  const { part, port } = await world.role({})
  const { ca } = world.tls
  const session = connectHttp2(`https://${HOST}:${port}`, {
    ca: ca as string,
    lookup: (_host, options, done) =>
      options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  })
  const asked = (headers: Readonly<Record<string, string>>, body?: string) =>
    new Promise<number>((resolve, reject) => {
      const stream = session.request(headers)
      stream.on('response', (h) => resolve(Number(h[':status'])))
      stream.on('error', reject)
      stream.resume()
      stream.end(body)
    })
  expect(await asked({ ':path': '/' })).toBe(200)
  expect(await asked({ ':path': '/api/session' })).toBe(401)
  expect(await asked({ ':path': '/', ':authority': 'evil.example' })).toBe(421)
  const json = { ':method': 'POST', ':path': '/api/sign-in', 'content-type': 'application/json' }
  expect(await asked({ ...json, origin: 'https://evil.example' }, '{}')).toBe(403)
  expect(await asked(json, JSON.stringify({ token: await world.tokenOf('reader') }))).toBe(200)
  session.destroy()
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ host: '127.0.0.1', port, servername: HOST, ca }, () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber ?? '')
        socket.destroy()
      })
      socket.on('error', reject)
    })
  const before = await served()
  writeFileSync(world.files.key, 'damaged')
  await part.reload()
  expect(await served()).toBe(before)
  await world.writePair()
  await part.reload()
  expect(await served()).not.toBe(before)
})
