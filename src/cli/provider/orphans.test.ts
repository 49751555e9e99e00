// The list of hosts without a Machine, and the approval to delete some.
import { expect, test } from 'vitest'
import { ANNOTATIONS, ORPHAN_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { approvedIn, OrphanReports } from '#controllers/machine/orphan-reports.ts'
import { seededRandom } from '#lib/random.ts'
import { silentLogger } from '#lib/log.ts'
import type { Host } from '#providers/port.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { approveDeletion, orphanLines, readOrphans } from './orphans.ts'

const configMaps = coreKind('ConfigMap')
const key = { namespace: SYSTEM_NAMESPACE, name: ORPHAN_HOSTS }
const signal = new AbortController().signal

const host = (id: string, machineUid = `uid-${id}`): Host => ({
  providerID: `cloud://${id}`,
  clientToken: `token-${id}`,
  machineUid,
  machine: id,
  state: 'Running',
  createdAt: '2026-01-05T00:00:00Z',
})

function world() {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1) })
  const events: string[] = []
  const recorder = { record: (_: unknown, { note }: { readonly note: string }) => void events.push(note) }
  const client = fake.client({ actor: 'controllers' })
  const reports = new OrphanReports({ client, log: silentLogger, events: recorder })
  const publish = (hosts: readonly Host[], provider = 'cloud') =>
    reports.publish(
      provider,
      hosts.map((h) => ({
        host: h,
        sinceMs: clock.now(),
        why: undefined,
        heard: undefined,
        ...(h.machine === 'b' && { why: 'node b is on it', heard: 'node b is on it' }),
      })),
      signal,
    )
  return { clock, fake, events, client, reports, publish, person: fake.client({ actor: 'person' }) }
}

test('nothing is written while every host belongs to a Machine', async () => {
  const { fake, publish, person, clock } = world()
  await publish([])
  expect(fake.peek(configMaps, key)).toBeUndefined()
  expect(orphanLines(await readOrphans(person), clock.now())).toEqual(['every host belongs to a Machine'])
})

test('hosts of all providers are listed, with an event each, and leave the list when they are gone', async () => {
  const { publish, person, clock, events } = world()
  await publish([host('b'), host('a')])
  await publish([host('a'), host('b')])
  await publish([{ ...host('c'), providerID: 'rack://c' }], 'rack')
  clock.skip(5 * 60_000)
  const lines = orphanLines(await readOrphans(person), clock.now())
  expect(lines.map((l) => l.split(/ {2,}/))).toEqual([
    ['HOST', 'MADE FOR', 'STATE', 'SINCE', 'NOTE'],
    ['cloud://a', 'a', 'Running', '5m'],
    ['cloud://b', 'b', 'Running', '5m', 'node b is on it'],
    ['rack://c', 'c', 'Running', '5m'],
  ])
  expect(events.map((note) => note.split(',')[0])).toEqual(['host cloud://b', 'host cloud://a', 'host rack://c'])
  await publish([])
  await publish([], 'rack')
  expect((await readOrphans(person)).total).toBe(0)
})

test('a person approves the deletion of one host, and of no other that gets its id', async () => {
  const { publish, person, reports, fake } = world()
  await publish([host('a'), host('b')])
  await approveDeletion(person, ['cloud://a'])
  expect(reports.isApproved(host('a'))).toBe(false)
  await publish([host('a'), host('b')])
  expect([host('a'), host('b'), host('a', 'another')].map((h) => reports.isApproved(h))).toEqual([true, false, false])
  const [first] = (await readOrphans(person)).hosts
  expect(first).toMatchObject({ host: 'cloud://a', isApproved: true })
  await approveDeletion(person, ['cloud://b'])
  expect(approvedIn(fake.peek(configMaps, key)).size).toBe(2)
})

test('a host that is not listed cannot be approved', async () => {
  const { publish, person } = world()
  await expect(approveDeletion(person, ['cloud://a'])).rejects.toThrow(/KN1706/)
  await publish([host('a')])
  await expect(approveDeletion(person, ['cloud://a', 'cloud://x'])).rejects.toThrow(/cloud:\/\/x/)
  expect((await readOrphans(person)).hosts.some((h) => h.isApproved)).toBe(false)
})

test('approvals that cannot be read approve nothing', () => {
  const of = (text: string) => approvedIn({ metadata: { annotations: { [ANNOTATIONS.approvedOrphans]: text } } })
  for (const text of ['', 'x', '[]', '{"cloud://a":1}', 'null']) expect(of(text).size, text).toBe(0)
})
