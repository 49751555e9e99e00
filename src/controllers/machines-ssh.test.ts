// Hosts that are joined over SSH: the controller is killed before and after each of its writes, hosts fail in every way, and one that is stuck delays no other.
import { KINDS } from '#api/kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { secretType } from '#nodes/objects.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Session, SessionResult } from '#ssh/ssh-sessions.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { dyingClient } from '#test/doubles/kube/dying-client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { afterEach, expect, test } from 'vitest'
import { sshJoinModule } from './sshjoin/reconcile.ts'

const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const DONE: SessionResult = { kind: 'Done', facts: new Map(), hostKey: undefined }
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

type Host = (step: string, name: string) => Promise<SessionResult> | SessionResult

function worldOf() {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const sessions: string[] = []
  const rescues: string[] = []
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'key', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64') },
  }
  fake.plant(secretType, secret)
  const host = (name: string, ssh: object = { hostKey: KEY }) =>
    fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'Agent', provider: { name: 'static' }, ssh: { host: name, secretRef: { name: 'key' }, ...ssh } },
    })
  /** A host whose agent was started reports. */
  const answers: Host = (step, name) => {
    if (step === 'Start') fake.poke(machineType, { name }, { status: { agent: { version: '1.0.0' } } }, 'status')
    return DONE
  }
  const start = async (on: Host = answers, client: KubeClient = fake.client({ actor: 'controllers' })) => {
    const random = seededRandom(7)
    // The test stops the caches of a killed process.
    const informers = createInformers({ client: fake.client({ actor: 'reader' }), clock, random, log: silentLogger })
    const run = async ({ script, target }: Session): Promise<SessionResult> => {
      sessions.push(`${target.host} ${script} ${target.trust.kind}`)
      return on(script, target.host)
    }
    const { controllers } = sshJoinModule.setup({
      client,
      informers,
      clock,
      random,
      log: silentLogger,
      metrics: createMetrics(),
      events: { record: () => undefined, flush: async () => undefined },
      config: {
        cluster: 'test',
        providers: {},
        join: { server: 's', caData: '', artifactBase: '', trust: { sequence: 1, threshold: 1, keys: [] } },
        sshJoin: {
          sessions: { run, inTurn: (_, work) => work({ run }) },
          scriptOf: (step, _machine, _token, _now, rescue) => {
            if (rescue !== undefined) rescues.push(`${step} ${rescue.publicKey} ${rescue.from.join()}`)
            return step
          },
        },
      },
    })
    for (const c of controllers) c.start()
    informers.start()
    const stop = () => {
      void informers.stop()
      for (const c of controllers) void c.stop(0)
    }
    stops.push(stop)
    await clock.advance(100)
    return stop
  }
  const joinOf = (name: string) => (fake.peek(machineType, { name }) as Machine | undefined)?.status?.join
  return { clock, fake, sessions, rescues, host, answers, start, joinOf }
}

test('a host is reached, checked, filled and started, with its key pinned', async () => {
  const w = worldOf()
  w.host('a')
  await w.start()
  await w.clock.advance(5_000)
  expect(w.sessions).toEqual(['Reach', 'Preflight', 'Fetch', 'Start'].map((step) => `a ${step} Pinned`))
  expect(w.joinOf('a')).toMatchObject({ step: 'Certified', finished: expect.any(String) })
})

test('S36 the key of a first use is recorded before anything else is sent, and pinned from then on', async () => {
  const w = worldOf()
  w.host('a', { firstUse: true })
  const seen: unknown[] = []
  await w.start((step, name) => {
    seen.push(w.joinOf('a')?.hostKey)
    return step === 'Reach' ? { ...DONE, hostKey: KEY } : w.answers(step, name)
  })
  await w.clock.advance(5_000)
  expect(w.sessions).toEqual(['a Reach FirstUse', ...['Preflight', 'Fetch', 'Start'].map((s) => `a ${s} Pinned`)])
  expect(seen).toEqual([undefined, KEY, KEY, KEY])
})

test('a rescue key is installed by the last step only, where the Machine asks for it', async () => {
  const w = worldOf()
  const secret = (name: string, data: object, annotations: object = {}) =>
    w.fake.plant(secretType, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: SYSTEM_NAMESPACE, name, labels: { 'kubenode.io/for-ssh': 'true' }, annotations },
      data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64'), ...data },
    })
  const publicKey = { 'ssh-publickey': Buffer.from(`${KEY} a comment`).toString('base64') }
  secret('rescue', publicKey, { 'kubenode.io/ssh-from': '10.0.0.0/24' })
  secret('half', {})
  secret('elsewhere', publicKey, { 'kubenode.io/ssh-hosts': '10.9.9.9' })
  w.host('none')
  for (const name of ['rescue', 'key', 'half', 'elsewhere', 'absent'])
    w.host(`with-${name}`, { hostKey: KEY, rescue: { secretRef: { name } } })
  await w.start()
  await w.clock.advance(10_000)
  expect(w.rescues).toEqual([`Start ${KEY} 10.0.0.0/24`])
  expect(['none', 'with-rescue'].map((name) => w.joinOf(name)?.finished === undefined)).toEqual([false, false])
  // Later, a rung that rescues is skipped where none was written.
  expect(['none', 'with-rescue'].map((name) => w.joinOf(name)?.rescue)).toEqual([false, true])
  const why = (name: string) => [w.joinOf(name)?.step, w.joinOf(name)?.reason, w.joinOf(name)?.message]
  expect(why('with-key')).toEqual(['Start', 'AuthRefused', 'spec.ssh.rescue needs a Secret of its own'])
  expect(why('with-half')).toEqual(['Start', 'AuthRefused', 'Secret half has no public key in ssh-publickey'])
  expect(why('with-elsewhere')[2]).toMatch(/is not for host with-elsewhere/)
  expect(why('with-absent')[2]).toMatch(/not found/)
})

test('killed before or after any of its writes, a join ends the same', async () => {
  let writes = 0
  for (const when of ['before', 'after'] as const)
    for (let at = 1; at <= 10; at++) {
      const w = worldOf()
      w.host('a')
      const dying = dyingClient(w.fake.client({ actor: 'controllers' }), at, when)
      const stop = await w.start(w.answers, dying.client)
      await w.clock.advance(5_000)
      stop()
      writes = dying.writes()
      await w.start()
      await w.clock.advance(60_000)
      expect(w.joinOf('a'), `${when} ${at}`).toMatchObject({ step: 'Certified', finished: expect.any(String) })
      // A step is repeated at most once for the kill, and never an earlier one.
      const steps = w.sessions.map((s) => s.split(' ')[1])
      expect(steps.filter((s, i) => s !== steps[i - 1])).toEqual(['Reach', 'Preflight', 'Fetch', 'Start'])
      expect(steps.length).toBeLessThanOrEqual(5)
    }
  // The last kills were beyond the last write.
  expect(writes).toBeLessThan(10)
})

test('killed during any session, a join continues with that step', async () => {
  for (const killed of ['Reach', 'Preflight', 'Fetch', 'Start']) {
    const w = worldOf()
    w.host('a')
    const stop = await w.start((step, name) => (step === killed ? new Promise(() => undefined) : w.answers(step, name)))
    await w.clock.advance(5_000)
    expect(w.joinOf('a')).toMatchObject({ step: killed })
    stop()
    await w.start()
    await w.clock.advance(5_000)
    expect(w.joinOf('a')?.finished, killed).toBeDefined()
    expect(w.sessions.filter((s) => s.includes(killed)).length).toBe(2)
  }
})

test('one host that is stuck delays no other, and fifty are at work at once', async () => {
  const w = worldOf()
  const names = Array.from({ length: 120 }, (_, i) => `h-${i}`)
  for (const name of names) w.host(name)
  let [now, most] = [0, 0]
  await w.start(async (step, name) => {
    if (name === 'h-0') return new Promise(() => undefined)
    most = Math.max(most, ++now)
    await w.clock.sleep(1_000)
    now--
    return w.answers(step, name)
  })
  // 119 hosts at 49 a time, four sessions of a second each.
  await w.clock.advance(20_000)
  expect(names.filter((name) => w.joinOf(name)?.finished === undefined)).toEqual(['h-0'])
  expect(most).toBeGreaterThan(40)
  expect(most).toBeLessThanOrEqual(50)
})

test('hosts behind a jump host that is stuck delay no others, and eight at once go through it', async () => {
  const w = worldOf()
  const jump = { host: 'jump', port: 22, user: 'root', hostKey: KEY }
  // First by name, so that they are first in the queue.
  for (let i = 0; i < 200; i++) w.host(`a-${i}`, { hostKey: KEY, jump })
  const others = Array.from({ length: 60 }, (_, i) => `b-${i}`)
  for (const name of others) w.host(name)
  let [now, most] = [0, 0]
  const freed = Promise.withResolvers<void>()
  await w.start(async (step, name) => {
    if (!name.startsWith('a-')) return w.answers(step, name)
    most = Math.max(most, ++now)
    await freed.promise
    now--
    return w.answers(step, name)
  })
  await w.clock.advance(20_000)
  expect(others.filter((name) => w.joinOf(name)?.finished === undefined)).toEqual([])
  expect(most).toBe(8)
  freed.resolve()
  await w.clock.advance(300_000)
  const all = Array.from({ length: 200 }, (_, i) => `a-${i}`)
  expect(all.filter((name) => w.joinOf(name)?.finished === undefined)).toEqual([])
  expect(most).toBe(8)
})

test('a wrong key is tried on fifty hosts at most, and the rest continue once it is corrected', async () => {
  const w = worldOf()
  const names = Array.from({ length: 200 }, (_, i) => `h-${i}`)
  for (const name of names) w.host(name)
  let isWrong = true
  await w.start((step, name) =>
    isWrong ? { kind: 'Failed', failure: 'AuthRefused', why: 'x' } : w.answers(step, name),
  )
  await w.clock.advance(120_000)
  expect(w.sessions.length).toBeLessThanOrEqual(50)
  const paused = names.map((name) => w.joinOf(name)?.message ?? '').filter((message) => message !== 'x')
  expect(paused.length).toBeGreaterThanOrEqual(150)
  for (const message of paused)
    expect(message).toMatch(/^paused: \d+ of \d+ hosts with this login failed with AuthRefused/)
  isWrong = false
  for (const name of names)
    if (w.joinOf(name)?.reason !== undefined)
      w.fake.poke(machineType, { name }, { metadata: { annotations: { 'kubenode.io/join-again': '1' } } })
  await w.clock.advance(120_000)
  expect(names.filter((name) => w.joinOf(name)?.finished === undefined)).toEqual([])
})

test('hosts whose Secret is missing hold back no hosts with another login', async () => {
  const w = worldOf()
  for (let i = 0; i < 20; i++) w.host(`a-${i}`, { hostKey: KEY, secretRef: { name: 'missing' } })
  await w.start()
  await w.clock.advance(60_000)
  expect(w.joinOf('a-0')).toMatchObject({ reason: 'AuthRefused' })
  w.host('b')
  w.host('c', { hostKey: KEY, secretRef: { name: 'missing' } })
  await w.clock.advance(60_000)
  expect(w.joinOf('b')).toMatchObject({ finished: expect.any(String) })
  expect(w.joinOf('c')?.message).toMatch(/^paused: 5 of 5 hosts with this login failed with AuthRefused/)
})

test('a host with another key is never tried again by itself', async () => {
  const w = worldOf()
  w.host('a')
  await w.start(() => ({ kind: 'Failed', failure: 'HostKeyChanged', why: 'it presented SHA256:x' }))
  await w.clock.advance(3_600_000)
  expect(w.sessions).toEqual(['a Reach Pinned'])
  expect(w.joinOf('a')).toMatchObject({ reason: 'HostKeyChanged', message: 'it presented SHA256:x' })
})
