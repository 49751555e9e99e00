// Machines that are managed over SSH: visited in rounds, with what failed in their status, and no session before their Secret allows it.
import { KINDS } from '#api/kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { secretType } from '#nodes/objects.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { afterEach, expect, test } from 'vitest'
import type { VisitResult } from './module.ts'
import { sshNodesModule } from './sshnodes/reconcile.ts'

const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

type Host = (name: string, current: () => Machine | undefined) => Promise<VisitResult> | VisitResult

async function worldOf(on: Host) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const visits: string[] = []
  fake.plant(secretType, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'key', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64') },
  })
  const host = (name: string, ssh: object = { hostKey: KEY }) =>
    fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'SSH', provider: { name: 'static' }, ssh: { host: name, secretRef: { name: 'key' }, ...ssh } },
    })
  const random = seededRandom(7)
  const informers = createInformers({ client: fake.client({ actor: 'reader' }), clock, random, log: silentLogger })
  const { controllers } = sshNodesModule.setup({
    client: fake.client({ actor: 'controllers' }),
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
      sshNodes: {
        visit: async ({ target, sudo }, machine, current) => {
          visits.push(`${target.host} ${target.trust.kind} ${sudo ? 'sudo' : 'root'}`)
          return on(machine.metadata.name ?? '', current)
        },
      },
    },
  })
  for (const c of controllers) c.start()
  informers.start()
  stops.push(() => {
    void informers.stop()
    for (const c of controllers) void c.stop(0)
  })
  await clock.advance(100)
  const visitOf = (name: string) => (fake.peek(machineType, { name }) as Machine | undefined)?.status?.visit
  return { clock, fake, visits, host, visitOf }
}

test('each host is visited once a round, and at once after a change; a stuck one delays no other', async () => {
  let release = (): void => undefined
  const stuck = new Promise<VisitResult>((resolve) => (release = () => resolve({ kind: 'Done' })))
  const w = await worldOf((name) => (name === 'stuck' ? stuck : { kind: 'Done' }))
  w.host('stuck')
  w.host('a', { hostKey: KEY, user: 'admin' })
  await w.clock.advance(1_000)
  expect(w.visits.toSorted()).toEqual(['a Pinned sudo', 'stuck Pinned root'])
  await w.clock.advance(75_000)
  expect(w.visits.filter((v) => v.startsWith('a')).length).toBe(2)
  w.fake.poke(machineType, { name: 'a' }, { spec: { pool: 'other' } })
  await w.clock.advance(1_000)
  expect(w.visits.filter((v) => v.startsWith('a')).length).toBe(3)
  expect(w.visits.filter((v) => v.startsWith('stuck')).length).toBe(1)
  release()
})

test('why a host cannot be worked on is in the status, since when, and goes with the next visit that succeeds', async () => {
  let result: VisitResult = { kind: 'Failed', failure: 'Unreachable', why: 'no route' }
  const w = await worldOf(() => result)
  w.host('a')
  await w.clock.advance(1_000)
  const first = w.visitOf('a')
  expect(first).toMatchObject({ reason: 'Unreachable', message: 'no route' })
  await w.clock.advance(75_000)
  expect(w.visitOf('a')).toEqual(first)
  result = { kind: 'Done' }
  await w.clock.advance(75_000)
  expect(w.visitOf('a')).toBeUndefined()
  result = { kind: 'Failed', failure: 'HostKeyChanged', why: 'another key' }
  await w.clock.advance(75_000)
  const tried = w.visits.length
  await w.clock.advance(600_000)
  expect(w.visits.length).toBe(tried)
})

test('a Machine that is deleted, or gets another channel, ends its visit', async () => {
  const seen: (string | undefined)[] = []
  const w = await worldOf(async (_, current) => {
    seen.push(current()?.spec.channel)
    w.fake.poke(machineType, { name: 'a' }, { spec: { channel: 'Observe' } })
    await w.clock.sleep(1_000)
    seen.push(current()?.spec.channel)
    return { kind: 'Done' }
  })
  w.host('a')
  await w.clock.advance(200_000)
  expect(seen).toEqual(['SSH', undefined])
})

test('no session starts on trust of the first use, nor with a Secret that its owner did not open for it', async () => {
  const w = await worldOf(() => ({ kind: 'Done' }))
  w.host('first', { firstUse: true })
  w.host('other', { hostKey: KEY, secretRef: { name: 'absent' } })
  await w.clock.advance(1_000)
  expect(w.visits).toEqual([])
  expect(w.visitOf('first')?.reason).toBe('HostKeyUnknown')
  expect(w.visitOf('other')?.reason).toBe('AuthRefused')
})
