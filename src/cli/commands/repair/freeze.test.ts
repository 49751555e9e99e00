import { expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { createValidator } from '#api/validate.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { freezeHold, refuseEmpty, thaw } from './freeze-hold.ts'
import { placeHold } from '#permits/holds/placing.ts'

const NOW = VIRTUAL_EPOCH_MS
const request = { what: undefined, reason: 'a test', for: '4h', author: 'ada' }
const fakeClient = () =>
  new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: [operationalHold, machine, nodeRemedier].map((type) => ({ type, schema: type.schema, status: true })),
  }).client({ actor: 'ada' })

test.each([
  [undefined, 'freeze-all', { kind: 'Cluster', selector: {} }],
  ['machine/m-1', 'freeze-machine-m-1', { kind: 'Machine', name: 'm-1' }],
  ['set/base', 'freeze-machinecomponentset-base', { kind: 'MachineComponentSet', name: 'base' }],
  ['machinecomponentset/base', 'freeze-machinecomponentset-base', { kind: 'MachineComponentSet', name: 'base' }],
] as const)('freeze %s makes the hold %s, which is valid and ends by itself', (what, name, target) => {
  const hold = freezeHold({ ...request, what }, NOW)
  expect([hold.metadata.name, hold.spec.target, hold.spec.until]).toEqual([name, target, '2026-01-05T04:00:00Z'])
  expect(createValidator().problems(operationalHold, hold)).toEqual([])
})

test.each(['m-1', 'machine/', 'machine/a/b', 'pod/x', '__proto__/x'])('freeze %s is refused by number', (what) => {
  expect(() => freezeHold({ ...request, what }, NOW)).toThrow(/^KN1325/)
})

test.each(['', '0s', 'soon', '31d'])('a freeze for %j is refused by number', (length) => {
  expect(() => freezeHold({ ...request, for: length }, NOW)).toThrow(/^KN1002/)
})

test.each(['', ' ', 'x'.repeat(513)])(
  'a freeze with the reason %j is refused by number, before any request',
  (reason) => {
    expect(() => freezeHold({ ...request, reason }, NOW)).toThrow(/^KN1002: cannot place a hold with/)
  },
)

test('freezing twice is freezing once; thawing takes back ours and names the others', async () => {
  const client = fakeClient()
  await placeHold(client, freezeHold(request, NOW))
  await placeHold(client, freezeHold({ ...request, for: '8h' }, NOW))
  await placeHold(client, freezeHold({ ...request, what: 'machine/m-1' }, NOW))
  const first = await thaw(client, undefined, false, NOW)
  expect([first.removed, first.left.map((h) => h.metadata.name)]).toEqual([['freeze-all'], ['freeze-machine-m-1']])
  expect(await thaw(client, undefined, true, NOW)).toEqual({ removed: ['freeze-machine-m-1'], left: [] })
})

test('a cluster in which nothing can be disrupted is not frozen by mistake', async () => {
  const client = fakeClient()
  await expect(refuseEmpty(client)).rejects.toThrow(/^KN1338: .* --even-if-absent/s)
  const spec = { provider: { name: 'static' } }
  await client.create(machine, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm' },
    spec,
  } as never)
  await refuseEmpty(client)
})
