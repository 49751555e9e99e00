// The console on loopback against other servers of the same machine: browsers send a cookie of 127.0.0.1 to every port of it.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ConsoleWorld, consoleWorld } from '#test/support/console/console-world.ts'
import { Browser } from '#test/support/console/plain-browser.ts'

let world: ConsoleWorld

beforeAll(async () => {
  world = await consoleWorld()
})
afterAll(() => world.stop())

const started = () => world.console(new Map([['test', world.admin]]))
const cookieIn = (headers: Readonly<Record<string, unknown>>): string =>
  String((headers['set-cookie'] as readonly string[])[0]).split(';')[0] ?? ''

test('a link leads to a host name that no other server of this machine has (S35)', async () => {
  const [one, other] = [new URL((await started()).newLink()), new URL((await started()).newLink())]
  expect(one.hostname).toMatch(/^kn-[0-9a-f]{16}\.localhost$/)
  expect(other.hostname).not.toBe(one.hostname)
  const browser = new Browser(Number(one.port))
  const { status, headers } = await browser.ask(one.pathname, { headers: { host: one.host } })
  expect([status, headers.location]).toEqual([303, '/'])
  const cookie = cookieIn(headers)
  expect((await browser.ask('/api/session', { headers: { host: one.host, cookie } })).status).toBe(200)
  // Of another console, or of a name that does not exist: not served at all.
  for (const host of [other.host, `kn-0000000000000000.localhost:${one.port}`, `x.${one.host}`])
    expect((await browser.ask('/api/session', { headers: { host, cookie } })).status, host).toBe(421)
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

describe('on a machine with IPv6 on loopback', () => {
  beforeEach((context) => {
    if (!hasIpv6) context.skip('no IPv6 on loopback: nothing can be taken there')
  })

  const listens = async (host: string, port: number): Promise<Server> => {
    const server = createServer().listen(port, host)
    await once(server, 'listening')
    return server
  }

  test('no other user can take the port of the console at ::1, where browsers look for its name first (S35)', async () => {
    const running = await started()
    for (const host of ['::1', '::', '127.0.0.1', '0.0.0.0'])
      await expect(listens(host, running.port), host).rejects.toThrow('EADDRINUSE')
    const link = new URL(running.newLink())
    const answer = await fetch(`http://[::1]:${running.port}${link.pathname}`, { redirect: 'manual' })
    expect(answer.status).toBe(303)
  })

  test('a port that another user has at ::1 is not used (S35)', async () => {
    const thief = await listens('::1', 0)
    const { port } = thief.address() as AddressInfo
    await expect(world.console(new Map([['test', world.admin]]), port)).rejects.toThrow(
      `cannot serve the console on ::1 port ${port}`,
    )
    // Nothing of it stays.
    const again = await listens('127.0.0.1', port)
    for (const server of [again, thief]) server.close()
  })
})

test('at 127.0.0.1 a stolen cookie opens nothing without the secret that the page keeps (S35)', async () => {
  const running = await started()
  const browser = new Browser(running.port)
  const { headers } = await browser.open(running.newLink())
  expect(headers.location).toMatch(/^\/#page=[A-Za-z0-9_-]{43}$/)
  expect((await browser.ask('/api/session')).status).toBe(200)
  const [thief, cookie] = [new Browser(running.port), cookieIn(headers)]
  for (const page of [undefined, '', 'x'.repeat(43), cookie.split('=')[1] ?? ''])
    for (const path of ['/api/session', '/api/topic/home', '/events?topics=home']) {
      const more = page === undefined ? {} : { 'x-kubenode-page': page }
      expect((await thief.ask(path, { headers: { cookie, ...more } })).status, `${path} ${page}`).toBe(401)
    }
  const hold = { cluster: 'test', effect: 'Pause', target: { kind: 'MachineComponentSet', name: 'a' } }
  expect((await thief.ask('/api/hold', { method: 'POST', body: hold, headers: { cookie } })).status).toBe(401)
})
