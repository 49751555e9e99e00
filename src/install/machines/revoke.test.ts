// What a revocation writes, onto which version of the Machine, and what it prints.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { keyRecord } from '#identity/agent-key.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { readmit } from './readmit.ts'
import { revoke } from './revoke.ts'

const NOW = Date.UTC(2026, 0, 5)
const [K1, K2] = ['1'.repeat(64), '2'.repeat(64)]

function world() {
  const fake = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: [{ type: machineType, schema: machineType.schema }],
  })
  const plant = (name: string) =>
    fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'Agent', provider: { name: 'static' } },
    })
  const read = (name: string) => fake.peek(machineType, { name }) as Machine
  const client = fake.client({ actor: 'cli' })
  const record = (name: string, key: string) =>
    client.patch(
      machineType,
      { name },
      { type: 'merge', value: { metadata: { annotations: { [ANNOTATIONS.agentKey]: keyRecord(read(name), key) } } } },
      { fieldManager: 'test' },
    )
  const printed: string[] = []
  const io = { out: (s: string) => void printed.push(s), err: (s: string) => void printed.push(s) }
  const keys = (name: string) => JSON.parse(read(name).metadata.annotations?.[ANNOTATIONS.revoked] ?? 'null')?.keys
  return { client, plant, record, read, printed, io, keys }
}

test('S26 a revocation lists the keys on record, and says what it ends and what is next', async () => {
  const w = world()
  w.plant('m-1')
  await w.record('m-1', K1)
  expect(await revoke({ client: w.client, names: ['m-1', 'm-2'], reason: 'stolen', now: NOW }, w.io)).toEqual({
    failed: 1,
  })
  expect(w.keys('m-1')).toEqual([K1])
  const record = w.printed.join('')
  for (const part of ['cannot find machine/m-2', 'machine/m-1 key revoked', 'until the certificate expires', '--token'])
    expect(record).toContain(part)
})

test('S26 a key that the approver records meanwhile is revoked with the others', async () => {
  const w = world()
  w.plant('m-1')
  await w.record('m-1', K1)
  let raced = false
  const client = new Proxy(w.client, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (property === 'patch' && !raced) {
          raced = true
          await w.record('m-1', K2)
        }
        return Reflect.apply(value, target, args)
      }
    },
  })
  expect(await revoke({ client, names: ['m-1'], now: NOW }, w.io)).toEqual({ failed: 0 })
  expect([raced, w.keys('m-1')]).toEqual([true, [K2]])
})

test('S26 a revoked key is not readmitted; a new one by token is', async () => {
  const w = world()
  w.plant('m-1')
  await w.record('m-1', K1)
  await revoke({ client: w.client, names: ['m-1'], now: NOW }, w.io)
  const options = { client: w.client, names: ['m-1'], for: '24h', now: NOW }
  expect(await readmit(options, w.io)).toEqual({ failed: 1 })
  expect(w.printed.join('')).toContain('add --token')
  expect(await readmit({ ...options, token: true }, w.io)).toEqual({ failed: 0 })
})

test('a revocation names machines, and a reason that can be read', async () => {
  const w = world()
  const options = { client: w.client, names: [], now: NOW }
  await expect(revoke(options, w.io)).rejects.toThrow('no machines are named')
  await expect(revoke({ ...options, reason: 'x'.repeat(201) }, w.io)).rejects.toThrow('--reason')
})
