// Credentials in Secrets: after a kill, a race of two leaders or a lost reply the result is the same.
import { beforeEach, describe, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { seededRandom } from '#lib/random.ts'
import { dyingClient } from '#test/doubles/kube/dying-client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { atOnce } from '#test/support/fleets/at-once-recipe.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { credentials, type CredentialInputs } from './graph.ts'
import { rootIn, sealingKeysIn, type Held } from './held.ts'
import { keepCredentials } from './keep.ts'
import { CLUSTER_AUTHORITY, EMBEDDED_RECIPE, SERVER_LEAF, TOKEN_KEYS } from './recipe.ts'
import { heldIn } from './secrets.ts'

const secrets = coreKind('Secret')
const NAMESPACE = 'kc-fleet-a'

let fake: FakeKube
let clock: VirtualClock

beforeEach(() => {
  clock = new VirtualClock()
  fake = new FakeKube({ clock, random: seededRandom(1) })
})

const inputs = (declared: Readonly<Record<string, number>> = {}): CredentialInputs => ({
  recipe: {
    ...atOnce(EMBEDDED_RECIPE),
    sealingKeys: [{ name: 'encryption', bytes: 32 }],
  },
  endpoint: 'https://10.0.0.1:6443',
  hosts: [],
  declared,
  servers: { total: 0, running: [] },
  agents: [],
})

const keep = (wanted = inputs(), client: KubeClient = fake.client({ actor: 'cluster' }), hasServed = false) =>
  keepCredentials(
    { client, namespace: NAMESPACE, fieldManager: 'kubenode-cluster', now: () => clock.now(), hasServed },
    wanted,
  )

async function kept(wanted = inputs()): Promise<Held> {
  const result = await keep(wanted)
  if (result.kind !== 'Kept') throw new Error(JSON.stringify(result))
  return result.held
}

/** Keys differ from run to run; what exists, and which generation signs, does not. */
const shapeOf = (held: Held) =>
  Object.keys(held)
    .toSorted()
    .map((name) => {
      const root = rootIn(held, name)
      return root === undefined ? name : [name, root.signs, root.generations.map(({ number }) => number)]
    })

test('credentials are made once, in the namespace of the cluster alone', async () => {
  const held = await kept()
  const writes = fake.all(secrets).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  expect(writes.toSorted()).toEqual(
    Object.keys(held)
      .map((name) => `${NAMESPACE}/credentials-${name}`)
      .toSorted(),
  )
  const before = fake.all(secrets)
  expect(await kept()).toEqual(held)
  expect(fake.all(secrets)).toEqual(before)
})

const ROTATED = { [CLUSTER_AUTHORITY]: 2, [TOKEN_KEYS]: 2, [SERVER_LEAF]: 2 }

describe.each(['before', 'after'] as const)('a kill %s any write', (when) => {
  test.each([
    ['of the first credentials', undefined],
    ['of a rotation of everything', ROTATED],
  ])('%s ends the same', async (_what, declared) => {
    if (declared !== undefined) await kept()
    const start = fake.all(secrets)
    const counting = dyingClient(fake.client({ actor: 'cluster' }), Infinity, when)
    await keep(inputs(declared), counting.client)
    const undisturbed = shapeOf(await kept(inputs(declared)))
    const total = counting.writes()
    expect(total).toBeGreaterThan(8)
    for (let at = 1; at <= total; at++) {
      fake = new FakeKube({ clock, random: seededRandom(at) })
      for (const secret of start) fake.restore(secrets, secret)
      const authority = start.length > 0 ? rootIn(heldNow(), CLUSTER_AUTHORITY)?.generations[0]?.open : undefined
      await expect(
        keep(inputs(declared), dyingClient(fake.client({ actor: 'cluster' }), at, when).client),
      ).rejects.toThrow('the process died')
      const first = rootIn(heldNow(), CLUSTER_AUTHORITY)?.generations.at(-1)?.open
      const held = await kept(inputs(declared))
      expect(shapeOf(held)).toEqual(undisturbed)
      // An authority that may have been handed out is never created again.
      if (first !== undefined && first !== authority)
        expect(rootIn(held, CLUSTER_AUTHORITY)?.generations.at(-1)?.open).toBe(first)
    }
  })
})

const heldNow = (): Held => heldIn(fake.all(secrets)).held

test('two leaders at once make one authority', async () => {
  const [a, b] = await Promise.all([keep(), keep(inputs(), fake.client({ actor: 'other' }))])
  expect([a.kind, b.kind].toSorted()).toContain('Again')
  const held = await kept()
  expect(rootIn(held, CLUSTER_AUTHORITY)?.generations).toHaveLength(1)
  expect(await kept()).toEqual(held)
})

test.each([CLUSTER_AUTHORITY, TOKEN_KEYS, 'encryption'])(
  'a lost Secret of %s is named, and not made again',
  async (name) => {
    await kept()
    const client = fake.client({ actor: 'person' })
    await client.delete(secrets, { name: `credentials-${name}`, namespace: NAMESPACE })
    expect(await keep()).toEqual({ kind: 'Damaged', secrets: [`credentials-${name}`] })
    expect(fake.all(secrets).map((s) => s.metadata.name)).not.toContain(`credentials-${name}`)
  },
)

test('when all Secrets of a cluster that has served are lost, no other authority and no other key is made', async () => {
  await kept()
  const client = fake.client({ actor: 'person' })
  for (const { metadata } of fake.all(secrets))
    await client.delete(secrets, { name: metadata.name ?? '', namespace: NAMESPACE })
  expect(await keep(inputs(), fake.client({ actor: 'cluster' }), true)).toEqual({
    kind: 'Damaged',
    secrets: ['credentials-ca', 'credentials-encryption', 'credentials-service-account'],
  })
  expect(fake.all(secrets)).toEqual([])
})

/** Servers run with the current ones. */
async function following(wanted: CredentialInputs): Promise<CredentialInputs> {
  const { serverDigest = '' } = credentials(wanted, clock.now(), heldNow())
  return { ...wanted, servers: { total: 1, running: [serverDigest] } }
}

test('a key that follows another one at once does not encrypt before the servers have it', async () => {
  const sealedWith = (number: number) => ({ all: { with: number }, snapshots: [] })
  await kept()
  const wanted = (number: number) => ({ ...inputs({ encryption: number }), sealed: sealedWith(2) })
  const unasked = (number: number): CredentialInputs => ({ ...wanted(number), servers: undefined })
  await kept(unasked(2))
  await kept(await following({ ...wanted(2), sealed: { snapshots: [] } }))
  expect(sealingKeysIn(heldNow(), 'encryption')?.signs).toBe(2)
  // It was raised once more meanwhile.
  await kept(await following(wanted(3)))
  const keys = sealingKeysIn(heldNow(), 'encryption')
  expect([keys?.generations.map(({ number }) => number), keys?.signs]).toEqual([[2, 3], 2])
  await kept(await following(wanted(3)))
  expect(sealingKeysIn(heldNow(), 'encryption')?.signs).toBe(3)
})

test('a lost certificate is made again', async () => {
  const before = await kept()
  await fake.client({ actor: 'person' }).delete(secrets, { name: `credentials-${SERVER_LEAF}`, namespace: NAMESPACE })
  const held = await kept()
  expect(shapeOf(held)).toEqual(shapeOf(before))
  expect(held[SERVER_LEAF]).not.toEqual(before[SERVER_LEAF])
})

test('a Secret that cannot be read stops everything, by its name', async () => {
  await kept()
  const [found] = fake.all(secrets).filter((s) => s.metadata.name === `credentials-${SERVER_LEAF}`)
  if (found === undefined) throw new Error('no Secret')
  await fake.client({ actor: 'person' }).update(secrets, { ...found, data: {} })
  expect(await keep(inputs(ROTATED))).toEqual({ kind: 'Damaged', secrets: [`credentials-${SERVER_LEAF}`] })
})
