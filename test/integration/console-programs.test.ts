// The first line of the console when programs do not run: with the rights that are shipped, over a real API server, for a person who may read their Leases and one who may not.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { programLeaseName, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { HomeTopic, WhyAnswer } from '#console/protocol.ts'
import { type Lease, leaseType, newLease, renewed, taken } from '#runtime/lease.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld
const running: (() => Promise<void>)[] = []
const HOUR = 3_600_000

beforeAll(async () => {
  world = await peopleWorld()
  for (const name of ['chief', 'visitor']) await world.allow(name, ['*'], ['get', 'list', 'watch'])
  await world.allow('chief', ['leases'], ['get'], 'coordination.k8s.io')
  await world.allow('chief', ['nodes'], ['list', 'watch'], '')
  await world.admin.create(machine, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: 'n-1' },
    spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
  } satisfies Machine)
})
afterEach(async () => {
  for (const stop of running.splice(0)) await stop()
})
afterAll(() => world.stop())

/** A program that leads, with a clock that is an hour behind; `stop` is a SIGKILL: the Lease keeps its holder. */
async function leads(program: string): Promise<() => Promise<void>> {
  const { admin } = world
  const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }
  const found = await admin.get(leaseType, key)
  const wanted = taken(found ?? newLease(key), `pod-${Date.now()}`, 15_000, Date.now() - HOUR)
  let lease: Lease = found === undefined ? await admin.create(leaseType, wanted) : await admin.update(leaseType, wanted)
  const ended = new AbortController()
  const beats = (async () => {
    while (!ended.signal.aborted) {
      lease = await admin.update(leaseType, renewed(lease, Date.now() - HOUR))
      await new Promise((done) => setTimeout(done, 50))
    }
  })()
  const stop = async () => {
    ended.abort()
    await beats
  }
  running.push(stop)
  return stop
}

test('a dead Defender is on the first line for those who may read its Lease, and unknown to the others', async () => {
  const { server } = world
  const connection = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    impersonate: { user: programUser('console'), groups: ['system:authenticated'] },
  }
  await leads('controllers')
  const kill = await leads('defender')
  const { port } = await world.role({}, connection, fastClock(10))
  const signedIn = async (name: string) => {
    const browser = world.browser(port)
    await browser.ask('/api/sign-in', { method: 'POST', body: { token: await world.tokenOf(name) } })
    await expect.poll(async () => (await browser.session()).clusters[0]?.state).toBe('Connected')
    return browser
  }
  const [chief, visitor] = [await signedIn('chief'), await signedIn('visitor')]
  const home = async (who: typeof chief) => (await who.topic<HomeTopic>('home')).head.sentence
  const why = async (who: typeof chief) =>
    JSON.stringify((await who.json<WhyAnswer>(`/api/why?cluster=${CLUSTER}&kind=Machine&name=n-1`)).tree)
  await expect.poll(() => home(chief)).toBe('Nothing needs attention; 1 change in progress.')
  await expect
    .poll(() => home(visitor))
    .toBe('Nothing known needs attention; 1 change in progress; 1 cluster known only in part.')
  await kill()
  const since = Date.now()
  await expect.poll(() => home(chief)).toBe('1 thing needs attention: the Defender is away (test)')
  const [row] = (await chief.topic<HomeTopic>('home')).rows
  expect(row?.lift).toEqual({ text: 'kubenode check', isCommand: true })
  // By the clock of the console, not by that of the Defender.
  expect(row?.since).toBeGreaterThan(since - HOUR / 2)
  expect(await why(chief)).toContain('the Defender has not renewed the lease since')
  expect(await home(visitor)).toBe('Nothing known needs attention; 1 change in progress; 1 cluster known only in part.')
  expect(await why(visitor)).not.toContain('Defender')
  await leads('defender')
  await expect.poll(() => home(chief)).toBe('Nothing needs attention; 1 change in progress.')
})
