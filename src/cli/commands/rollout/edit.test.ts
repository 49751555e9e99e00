import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { contentOf, keptContent } from '#api/protocol/committed.ts'
import { createValidator } from '#api/validate.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { allowHold, checkDigest, editable, findEdit, putBack } from './edit.ts'

const NOW = VIRTUAL_EPOCH_MS
const WHAT = 'machineset/workers'
const spec = { ...machineSet.example.spec, replicas: 5 }
const key = { name: 'workers' }

interface Listed {
  readonly isListed?: boolean
  readonly hasCopy?: boolean
}

async function cluster({ isListed = true, hasCopy = true }: Listed = {}) {
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const client = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds }).client({ actor: 'ada' })
  const kept = keptContent({ kind: 'MachineSet', spec }) ?? ''
  const metadata = { ...key, ...(hasCopy && { annotations: { [ANNOTATIONS.committed]: kept } }) }
  await client.create(machineSet, { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata, spec } as never)
  const content = contentOf({ kind: 'MachineSet', spec })
  const refs = [{ group: 'kubenode.io', kind: 'MachineSet', ...key, ...(content && { committed: [content] }) }]
  const shard = { source: 'kubenode-system/fleet', track: 'main', shard: 0, refs: isListed ? refs : [] }
  await client.create(inventory, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Inventory',
    metadata: { name: 'i' },
    spec: shard,
  } as never)
  const edit = async () => {
    const found = await client.get(machineSet, key)
    if (found !== undefined) await client.update(machineSet, { ...found, spec: { ...found.spec, replicas: 50 } })
  }
  return { client, edit, replicas: async () => (await client.get(machineSet, key))?.spec.replicas }
}

test('an edit is put back to what git declares', async () => {
  const { client, edit, replicas } = await cluster()
  await edit()
  await putBack(client, WHAT, NOW)
  expect(await replicas()).toBe(5)
  expect(await findEdit(client, WHAT, NOW)).toBeUndefined()
})

test('an edit is put back also when every Inventory was deleted', async () => {
  const { client, edit, replicas } = await cluster({ isListed: false })
  await edit()
  await putBack(client, WHAT, NOW)
  expect(await replicas()).toBe(5)
})

test('the hold that allowed an edit ends when the edit is put back', async () => {
  const { client, edit } = await cluster()
  await edit()
  const digest = (await findEdit(client, WHAT, NOW))?.edit.digest ?? ''
  const { metadata } = await placeHold(
    client,
    allowHold({ what: WHAT, digest, reason: 'git is away', for: '8h', author: 'ada' }, NOW),
  )
  expect(await putBack(client, WHAT, NOW)).toMatchObject({ ended: [metadata.name], remaining: [] })
  expect((await client.list(operationalHold)).items).toEqual([])
})

test.each<[string, Listed, boolean, RegExp]>([
  [
    'an object that git does not declare',
    { isListed: false, hasCopy: false },
    true,
    /^KN1374: .* git does not declare it/,
  ],
  ['an edit without a copy of what git declares', { hasCopy: false }, true, /^KN1393: .* apply it from the repository/],
])('%s is not put back, and the message says why', async (_, listed, isEdited, says) => {
  const { client, edit, replicas } = await cluster(listed)
  if (isEdited) await edit()
  await expect(putBack(client, WHAT, NOW)).rejects.toThrow(says)
  expect(await replicas()).toBe(isEdited ? 50 : 5)
})

test('putting back what is in sync with git succeeds and changes nothing, as thaw and resume do', async () => {
  const { client, replicas } = await cluster()
  expect(await putBack(client, WHAT, NOW)).toBeUndefined()
  expect(await replicas()).toBe(5)
})

test('an edit that was not made cannot be allowed', async () => {
  const { client } = await cluster()
  const request = { what: WHAT, digest: '0123456789abcdef', reason: 'git is away', for: '8h', author: 'ada' }
  await expect(checkDigest(client, request, NOW)).rejects.toThrow(/^KN1374: .* it is in sync with git/)
})

test('exactly the content that a person looked at is allowed, and the hold is valid', async () => {
  const { client, edit } = await cluster()
  await edit()
  const digest = (await findEdit(client, WHAT, NOW))?.edit.digest ?? ''
  const request = { what: WHAT, digest, reason: 'git is away', for: '8h', author: 'ada' }
  await checkDigest(client, request, NOW)
  const hold = allowHold(request, NOW)
  expect(hold.spec).toMatchObject({ effect: 'AllowEdit', to: digest, until: '2026-01-05T08:00:00Z' })
  expect(createValidator().problems(operationalHold, hold)).toEqual([])
  await placeHold(client, hold)
  await expect(checkDigest(client, { ...request, digest: '0123456789abcdef' }, NOW)).rejects.toThrow(
    `KN1395: cannot allow 0123456789abcdef: the content of ${WHAT} is ${digest} now`,
  )
})

/** A client that runs a function right before its first update. */
const disturbed = (client: KubeClient, disturb: () => Promise<unknown>): KubeClient => {
  let isFirst = true
  return new Proxy(client, {
    get: (target, name) =>
      name !== 'update'
        ? Reflect.get(target, name, target)?.bind(target)
        : async (...args: Parameters<KubeClient['update']>) => {
            if (isFirst) await disturb()
            isFirst = false
            return target.update(...args)
          },
  })
}

test('F45 an edit is put back although a controller writes the status meanwhile', async () => {
  const { client, edit, replicas } = await cluster()
  await edit()
  const status = () =>
    client.patch(machineSet, key, { type: 'merge', value: { status: { replicas: 3 } } }, { subresource: 'status' })
  await putBack(disturbed(client, status), WHAT, NOW)
  expect(await replicas()).toBe(5)
})

test('F45 an edit that comes while another one is put back stays, and the message says so', async () => {
  const { client, edit, replicas } = await cluster()
  await edit()
  const again = () => client.patch(machineSet, key, { type: 'merge', value: { spec: { replicas: 60 } } })
  await expect(putBack(disturbed(client, again), WHAT, NOW)).rejects.toThrow(/^KN1395: .* edited again/)
  expect(await replicas()).toBe(60)
})

test.each(['machine/m-1', 'component/x'])('%s cannot be put back or allowed', (what) => {
  expect(() => editable(what)).toThrow(/^KN1325/)
})

test.each(['', '0s', '8d'])('an edit is not allowed for %j', (length) => {
  const request = { what: WHAT, digest: 'x', reason: 'r', for: length, author: 'a' }
  expect(() => allowHold(request, NOW)).toThrow(/^KN1002/)
})

test('an object that is not there is not found', async () => {
  const { client } = await cluster()
  await expect(putBack(client, 'set/nope', NOW)).rejects.toThrow(/^KN1313: cannot find set\/nope/)
})
