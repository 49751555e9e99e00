// The list of hosts without a Machine, and the approval to delete some.
import { expect, test } from 'vitest'
import { ANNOTATIONS, ORPHAN_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ORPHAN_APPROVAL_MS, orphanApprovalsIn } from '#api/protocol/orphan-approvals.ts'
import { OrphanReports } from '#controllers/machine/orphans/reports.ts'
import { seededRandom } from '#lib/random.ts'
import { silentLogger } from '#lib/log.ts'
import type { Host } from '#providers/port.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { approveDeletion, orphanLines, readOrphans } from '#providers/remote/orphans.ts'

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
  const reports = new OrphanReports({ client, clock, log: silentLogger, events: recorder })
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
  const approved = () => [
    ...orphanApprovalsIn(
      fake.peek(configMaps, key)?.metadata.annotations?.[ANNOTATIONS.approvedOrphans],
      clock.now(),
    ).keys(),
  ]
  return { clock, fake, events, client, reports, approved, publish, person: fake.client({ actor: 'person' }) }
}

test('nothing is written while every host belongs to a Machine', async () => {
  const { fake, publish, person, clock } = world()
  await publish([])
  expect(fake.peek(configMaps, key)).toBeUndefined()
  expect(orphanLines(await readOrphans(person, clock.now()), clock.now())).toEqual([
    'no provider lists a host without a Machine; one that does not answer lists none',
  ])
})

test('hosts of all providers are listed, with an event each, and leave the list when they are gone', async () => {
  const { publish, person, clock, events } = world()
  await publish([host('b'), host('a')])
  await publish([host('a'), host('b')])
  await publish([{ ...host('c'), providerID: 'rack://c' }], 'rack')
  clock.skip(5 * 60_000)
  const lines = orphanLines(await readOrphans(person, clock.now()), clock.now())
  expect(lines.map((l) => l.split(/ {2,}/))).toEqual([
    ['HOST', 'MADE FOR', 'STATE', 'SINCE', 'NOTE'],
    ['cloud://a', 'a', 'Running', '5m'],
    ['cloud://b', 'b', 'Running', '5m', 'node b is on it'],
    ['rack://c', 'c', 'Running', '5m'],
  ])
  expect(events.map((note) => note.split(',')[0])).toEqual(['host cloud://b', 'host cloud://a', 'host rack://c'])
  await publish([])
  await publish([], 'rack')
  expect((await readOrphans(person, clock.now())).total).toBe(0)
})

test('a person approves the deletion of one host, and of no other that gets its id', async () => {
  const { publish, person, reports, approved, clock } = world()
  await publish([host('a'), host('b')])
  await approveDeletion(person, ['cloud://a'], clock.now())
  expect(reports.isApproved(host('a'))).toBe(false)
  await publish([host('a'), host('b')])
  expect([host('a'), host('b'), host('a', 'another')].map((h) => reports.isApproved(h))).toEqual([true, false, false])
  const [first] = (await readOrphans(person, clock.now())).hosts
  expect(first).toMatchObject({ host: 'cloud://a', isApproved: true })
  await approveDeletion(person, ['cloud://b'], clock.now())
  expect(approved()).toEqual(['cloud://a', 'cloud://b'])
})

test('a host that is not listed cannot be approved', async () => {
  const { publish, person, clock } = world()
  await expect(approveDeletion(person, ['cloud://a'], clock.now())).rejects.toThrow(/KN1313/)
  await publish([host('a')])
  await expect(approveDeletion(person, ['cloud://a', 'cloud://x'], clock.now())).rejects.toThrow(/cloud:\/\/x/)
  expect((await readOrphans(person, clock.now())).hosts.some((h) => h.isApproved)).toBe(false)
})

test('an approval ends with the listing that it was given for, and after a day', async () => {
  const { publish, person, reports, approved, clock } = world()
  const approveA = () => approveDeletion(person, ['cloud://a'], clock.now())
  await publish([host('a')])
  await approveA()
  await publish([host('a')])
  expect(reports.isApproved(host('a'))).toBe(true)
  // It gets a Machine again, and is listed once more weeks later.
  await publish([])
  expect(approved()).toEqual([])
  await publish([host('a')])
  expect(reports.isApproved(host('a'))).toBe(false)
  await approveA()
  await publish([host('a', 'another')])
  expect(approved()).toEqual([])
  await publish([host('a')])
  await approveA()
  clock.skip(ORPHAN_APPROVAL_MS - 1)
  await publish([host('a')])
  expect(reports.isApproved(host('a'))).toBe(true)
  clock.skip(1)
  await publish([host('a')])
  expect([reports.isApproved(host('a')), approved()]).toEqual([false, []])
})

test('hosts of one provider say nothing about approvals of another', async () => {
  const { publish, person, approved, clock } = world()
  await publish([host('a')])
  await publish([{ ...host('c'), providerID: 'rack://c' }], 'rack')
  await approveDeletion(person, ['cloud://a', 'rack://c'], clock.now())
  await publish([], 'rack')
  expect(approved()).toEqual(['cloud://a'])
})

test.each(['', 'x', '[]', '{"cloud://a":1}', '{"cloud://a":"uid-a"}', '{"cloud://a":{"machineUid":"uid-a"}}', 'null'])(
  'approvals that cannot be read approve nothing: %s',
  (text) => expect(orphanApprovalsIn(text, 0).size).toBe(0),
)

test.each(['2999-01-01T00:00:00Z', 'soon', '2026-01-01T00:00:00Z'])('an approval of %s approves nothing', (at) => {
  const text = JSON.stringify({ 'cloud://a': { machineUid: 'uid-a', at } })
  expect(orphanApprovalsIn(text, Date.parse('2026-01-05T00:00:00Z')).size).toBe(0)
})
