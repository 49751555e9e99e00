// Sets that list their hosts: each machine has one of them, with the login that is listed, and no host is given twice.
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type TestWorld, endWorlds, machineWorld, setOf } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const hostOf = (n: number) => ({ name: `db-${n}`, host: `10.0.0.${n}`, hostKey: KEY, rack: `r${n}` })

const listing = (replicas: number, hosts: readonly object[], ssh: object = {}): MachineSet => {
  const set = setOf(replicas)
  const spec = { provider: { name: 'static' }, channel: 'SSH', ssh: { secretRef: { name: 'key' }, hosts, ...ssh } }
  return { ...set, spec: { ...set.spec, template: { ...set.spec.template, spec } } } as unknown as MachineSet
}

const machines = (w: TestWorld) =>
  (w.fake.all(machineType) as readonly Machine[]).toSorted((a, b) =>
    String(a.metadata.name) < String(b.metadata.name) ? -1 : 1,
  )
const names = (w: TestWorld) => machines(w).map((m) => m.metadata.name)
const theSet = (w: TestWorld) => w.fake.peek(machineSet, { name: 'workers' }) as MachineSet
const world = (): Promise<TestWorld> =>
  machineWorld({ providers: { static: new StaticProvider({ notes: notesInMemory(), clock: new VirtualClock() }) } })

test('a machine has the name, the server and the pinned key of a listed host, and a set waits when none is free', async () => {
  const w = await world()
  w.fake.plant(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'by-hand' },
    spec: {
      channel: 'SSH',
      provider: { name: 'static' },
      ssh: { host: '10.0.0.2', hostKey: KEY, secretRef: { name: 'key' } },
    },
  })
  w.fake.plant(machineSet, listing(3, [hostOf(1), hostOf(2), hostOf(3)]))
  await w.clock.advance(120_000)
  expect(names(w)).toEqual(['by-hand', 'db-1', 'db-3'])
  expect(machines(w)[1]?.spec).toMatchObject({
    channel: 'SSH',
    rack: 'r1',
    ssh: { host: '10.0.0.1', port: 22, user: 'root', hostKey: KEY, secretRef: { name: 'key' } },
  })
  expect(theSet(w).status?.waitingFor).toMatchObject({
    predicate: 'HostsMade',
    seen: '1 machine is missing, and 0 hosts of spec.template.spec.ssh.hosts are free',
    unblock: 'the set lists more hosts, or fewer replicas are wanted',
  })
  expect(theSet(w).status?.conditions?.find((c) => c.type === 'Reconciling')).toMatchObject({ reason: 'HostsTaken' })
})

test('another login reaches machines in place, and the machine of a host that is no longer listed leaves first', async () => {
  const w = await world()
  w.fake.plant(machineSet, listing(2, [hostOf(1), hostOf(2)]))
  await w.clock.advance(60_000)
  const uids = machines(w).map((m) => m.metadata.uid)
  const change = (replicas: number, hosts: readonly object[], ssh: object = {}) => {
    const { spec } = listing(replicas, hosts, ssh)
    w.fake.poke(machineSet, { name: 'workers' }, { spec })
  }
  change(2, [hostOf(1), hostOf(2)], { user: 'admin', secretRef: { name: 'other' } })
  await w.clock.advance(60_000)
  expect(machines(w).map((m) => m.metadata.uid)).toEqual(uids)
  for (const { spec } of machines(w))
    expect(spec.ssh).toMatchObject({ user: 'admin', secretRef: { name: 'other' }, hostKey: KEY })
  expect(theSet(w).status?.outdatedReplicas).toBe(0)
  change(1, [hostOf(2)], { user: 'admin', secretRef: { name: 'other' } })
  await w.clock.advance(300_000)
  expect(names(w)).toEqual(['db-2'])
})
