// A host without a Machine whose tags change: the grace period restarts, and earlier observations of it are kept.
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { Host, Provider } from '#providers/port.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { OrphanReports } from './reports.ts'
import { OrphanWatch } from './watch.ts'
import { configMapType } from '../secrets/config-map.ts'
import { ORPHAN_GRACE_MS } from './plan.ts'

const host = (over: Partial<Host> = {}): Host => ({
  providerID: 'cloud://i-1',
  machine: 'm-1',
  machineUid: 'uid-1',
  clientToken: 'token-1',
  state: 'Running',
  address: '10.0.0.1',
  createdAt: '2026-01-05T00:00:00Z',
  ...over,
})

function world() {
  const clock = new VirtualClock()
  const kube = new FakeKube({
    clock,
    random: seededRandom(1),
    kinds: [...KINDS.map((k) => ({ type: k, schema: k.schema, status: true })), { type: configMapType }],
  })
  const client = kube.client({ actor: 'test' })
  const deleted: string[] = []
  const lines: string[] = []
  let listed = host()
  let nodes: readonly Node[] = []
  const provider = {
    name: 'cloud',
    capabilities: { isHostKept: false, visibleWithinMs: 0 },
    get: async () => listed,
    delete: async (id: string) => void deleted.push(id),
  } as unknown as Provider
  const watchOf = () =>
    new OrphanWatch({
      client,
      clock,
      log: loggerTo((level, message) => void lines.push(`${level} ${message}`)),
      machines: () => [],
      nodes: () => nodes,
      leaseNamed: () => undefined,
      policyOf: () => 'Delete',
      report: () => undefined,
      reports: new OrphanReports({ client, clock, log: silentLogger, events: { record: () => undefined } }),
    })
  let watch = watchOf()
  return {
    deleted,
    restart: () => void (watch = watchOf()),
    heard: (name: string | undefined) =>
      void (nodes =
        name === undefined
          ? []
          : [{ apiVersion: 'v1', kind: nodeType.kind, metadata: { name }, spec: { providerID: host().providerID } }]),
    look: async (...now: readonly Host[]) => {
      listed = now[0] ?? listed
      await watch.observe(provider, now, new AbortController().signal)
      await clock.advance(0)
    },
    lines,
    pass: (ms: number) => clock.skip(ms),
  }
}

test('a host is deleted after its grace period', async () => {
  const { look, pass, deleted } = world()
  await look(host())
  pass(ORPHAN_GRACE_MS)
  await look(host())
  expect(deleted).toEqual(['cloud://i-1'])
})

test.each([
  ['the uid of a Machine', { machineUid: 'uid-2' }],
  ['the token', { clientToken: 'token-2' }],
])('the grace period begins again when %s changes', async (_, change) => {
  const { look, pass, deleted } = world()
  await look(host())
  pass(ORPHAN_GRACE_MS)
  await look(host(change))
  expect(deleted).toEqual([])
  pass(ORPHAN_GRACE_MS - 1)
  await look(host(change))
  expect(deleted).toEqual([])
  pass(1)
  await look(host(change))
  expect(deleted).toEqual(['cloud://i-1'])
})

test.each([
  ['in one process', false],
  ['after a restart', true],
])('of which a Node was observed stays whatever it claims later, %s', async (_, isRestarted) => {
  const { look, pass, deleted, heard, restart } = world()
  await look(host())
  heard('m-1')
  await look(host())
  heard(undefined)
  if (isRestarted) restart()
  await look(host({ machineUid: 'uid-2' }))
  pass(2 * ORPHAN_GRACE_MS)
  await look(host({ machineUid: 'uid-2' }))
  expect(deleted).toEqual([])
})

test('of which a Node was observed stays although a list in between left it out', async () => {
  const { look, pass, deleted, heard } = world()
  heard('m-1')
  await look(host())
  heard(undefined)
  await look()
  await look(host())
  pass(2 * ORPHAN_GRACE_MS)
  await look(host())
  expect(deleted).toEqual([])
})

test('a provider that lists other hosts each time fills no log', async () => {
  const { look, pass, lines } = world()
  for (let list = 0; list < 10; list++) {
    await look(...[...Array(1_000).keys()].map((i) => host({ providerID: `cloud://${list}-${i}` })))
    pass(ORPHAN_GRACE_MS)
  }
  expect(lines.length).toBe(10 * 21)
  expect(lines.at(-1)).toBe('warn more hosts without a Machine')
})

test('S26 a host that is kept and recorded for an earlier Machine is forgotten, so that the one of its name now can have it; others stay', async () => {
  const { watch, deleted } = keptWorld([
    { name: 'db-1', uid: 'uid-now' },
    { name: 'db-2', uid: 'uid-db-2' },
  ])
  const recorded = (machine: string, machineUid: string) =>
    host({ providerID: `static://${machine}`, machine, machineUid })
  const hosts = [recorded('db-1', 'uid-earlier'), recorded('db-2', 'uid-db-2'), recorded('db-3', 'uid-db-3')]
  await watch(hosts)
  expect(deleted).toEqual(['static://db-1'])
})

function keptWorld(machines: readonly { readonly name: string; readonly uid: string }[]) {
  const clock = new VirtualClock()
  const kube = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type: configMapType }] })
  const client = kube.client({ actor: 'test' })
  const deleted: string[] = []
  const provider = {
    name: 'static',
    capabilities: { isHostKept: true, visibleWithinMs: 0 },
    delete: async (id: string) => void deleted.push(id),
  } as unknown as Provider
  const orphans = new OrphanWatch({
    client,
    clock,
    log: silentLogger,
    machines: () => machines.map((metadata) => ({ metadata }) as Machine),
    nodes: () => [],
    leaseNamed: () => undefined,
    policyOf: () => 'Report',
    report: () => undefined,
    reports: new OrphanReports({ client, clock, log: silentLogger, events: { record: () => undefined } }),
  })
  return {
    deleted,
    watch: (hosts: readonly Host[]) => orphans.observe(provider, hosts, new AbortController().signal),
  }
}
