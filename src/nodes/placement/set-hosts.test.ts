import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { expect, test } from 'vitest'
import { freeHosts, hostOf, specFor } from './set-hosts.ts'
import { canTakeOver, machinesLost, madeAs, madeFrom } from './takeover.ts'

const [KEY_A, CA] = ['ssh-ed25519 AAAAa', 'ssh-ed25519 AAAAca']
const LABELS = { pool: 'w' }
const HOSTS = [
  { name: 'a', host: '10.0.0.1', hostKey: KEY_A, rack: 'r1' },
  { name: 'b', host: '10.0.0.2', port: 2222 },
]
const SSH = { port: 22, user: 'admin', hostCA: CA, secretRef: { name: 'key' } }

const setOf = (hosts: readonly object[] | undefined, replicas = 2, ssh: object = {}): MachineSet =>
  ({
    metadata: { name: 'w' },
    spec: {
      replicas,
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: LABELS },
        spec: {
          provider: { name: 'static' },
          channel: 'SSH',
          rack: 'r0',
          ...(hosts !== undefined && { ssh: { ...SSH, ...ssh, hosts } }),
        },
      },
    },
  }) as unknown as MachineSet

const machineOf = (name: string, spec: object): Machine =>
  ({
    metadata: { name, labels: LABELS },
    spec: { provider: { name: 'static' }, channel: 'SSH', ...spec },
  }) as unknown as Machine

const specOf = (set: MachineSet, n: number) => specFor(set.spec.template.spec, set.spec.template.spec.ssh?.hosts[n])

test('the Machine of a host has its server, its own key before the authority of the set, and its place', () => {
  const set = setOf(HOSTS)
  const { hostCA: _, ...shared } = SSH
  expect(specOf(set, 0)).toMatchObject({ rack: 'r1', ssh: { ...shared, host: '10.0.0.1', port: 22, hostKey: KEY_A } })
  expect(specOf(set, 0).ssh).not.toHaveProperty('hostCA')
  expect(specOf(set, 1)).toMatchObject({ rack: 'r0', ssh: { ...SSH, host: '10.0.0.2', port: 2222 } })
  for (const n of [0, 1]) expect(specOf(set, n).ssh).not.toHaveProperty('hosts')
  expect(specFor(setOf(undefined).spec.template.spec, undefined)).not.toHaveProperty('ssh')
})

test('a host is free while no Machine has its name or its server', () => {
  const set = setOf(HOSTS)
  const free = (...machines: readonly Machine[]) => freeHosts(set, machines).map(({ name }) => name)
  expect(free()).toEqual(['a', 'b'])
  expect(free(machineOf('a', {}))).toEqual(['b'])
  expect(free(machineOf('x', { ssh: { host: '10.0.0.2', port: 2222 } }))).toEqual(['a'])
  expect(free(machineOf('x', { ssh: { host: '10.0.0.2', port: 22 } }))).toEqual(['a', 'b'])
  const jump = { host: 'j', port: 22 }
  expect(free(machineOf('x', { ssh: { host: '10.0.0.1', port: 22, jump } }))).toEqual(['a', 'b'])
})

test('a set takes over the machines of the hosts that it lists, and no others', () => {
  const [made] = [madeAs(machineOf('a', specOf(setOf(HOSTS), 0)))]
  expect(hostOf(setOf(HOSTS), machineOf('b', {}))).toMatchObject({ host: '10.0.0.2' })
  expect(canTakeOver(setOf(HOSTS), made)).toBe(true)
  expect(canTakeOver(setOf(HOSTS.slice(1)), made)).toBe(false)
  expect(canTakeOver(setOf([{ ...HOSTS[0], host: '10.0.0.9' }]), made)).toBe(false)
  expect(canTakeOver(setOf(undefined), made)).toBe(false)
})

test('a renamed set keeps as many machines as both list hosts', () => {
  const leaving = [{ set: 'old', count: 2, made: madeFrom(setOf(HOSTS)) }]
  const lost = (hosts: readonly object[] | undefined) =>
    machinesLost(leaving, [{ set: setOf(hosts), room: 2 }]).get('old')
  expect([HOSTS, HOSTS.slice(1), [], undefined].map(lost)).toEqual([0, 1, 2, 2])
})
