// The permits of one mass deletion, read and requested on the hub without a cache.
import { KINDS } from '#api/kinds.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import type { JsonObject } from '#lib/json.ts'
import { seededRandom } from '#lib/random.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { prunePermits } from './prune-permit.ts'

const NOW = Date.UTC(2026, 0, 5)
const HOUR_MS = 3_600_000
const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))

const cluster = { metadata: { name: 'east-1', namespace: 'kubenode', uid: 'c-1' } } as Cluster
const release = {
  kind: 'Release',
  metadata: { name: 'r', namespace: 'kubenode', uid: 'r-1' },
  spec: { commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e' },
  status: { clusters: [{ name: 'east-1', stage: 'prod', phase: 'Applying', since: '2026-01-05T00:00:00Z' }] },
} as unknown as Release
const held = { digest: 'd', count: 5, first: 'ConfigMap default/a' } as never

function world() {
  const clock = new VirtualClock(NOW)
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const ended = new EndedPermits(clock)
  const client = fake.client({ actor: 'sync' })
  const asking = { client, now: () => clock.now(), ended, cluster, release, signal: new AbortController().signal }
  const all = () => fake.all(operationPermit) as readonly OperationPermit[]
  /** The Defender writes a status, with its own clock. */
  const decide = async (status: JsonObject) => {
    const last = all().at(-1)
    await fake.client({ actor: 'defender' }).patch(
      operationPermit,
      { name: last?.metadata.name ?? '' },
      { type: 'merge', value: { status } },
      {
        subresource: 'status',
      },
    )
  }
  return { clock, all, decide, permits: prunePermits(asking) }
}

const verdict = (said: string) => [{ target: 'c-1', gate: 'Budget', verdict: said, seen: '1 of 1' }]

describe('the permit of a mass deletion', () => {
  test('is requested once, and waits', async () => {
    const { all, permits } = world()
    for (let pass = 0; pass < 3; pass++) expect(await permits.ask(held)).toMatchObject({ kind: 'Waiting' })
    expect(all().map((p) => p.spec.targets)).toMatchObject([[{ kind: 'Cluster', name: 'east-1', uid: 'c-1' }]])
    expect(all().map((p) => p.spec.requester)).toMatchObject([{ kind: 'Release', name: 'r', part: 'stage prod' }])
  })

  test('is granted with a clearance, and reported', async () => {
    const { all, decide, permits } = world()
    await permits.ask(held)
    await decide({ phase: 'Granted', decidedAt: timestamp(NOW), verdicts: verdict('Granted') })
    const answer = await permits.ask(held)
    expect(answer).toMatchObject({ kind: 'Granted', clearance: {} })
    if (answer.kind === 'Granted') await permits.report(answer.permit, true)
    expect(all()[0]?.spec.results).toEqual({ 'c-1': 'Succeeded' })
    expect(await permits.ask(held)).toMatchObject({ kind: 'Waiting' })
  })

  test.each([
    ['right', 0],
    ['an hour ahead', HOUR_MS],
    ['an hour behind', -HOUR_MS],
  ])('F16 is requested again five minutes after a refusal, by a Defender whose clock is %s', async (_, byMs) => {
    const { clock, all, decide, permits } = world()
    await permits.ask(held)
    await permits.ask(held)
    await decide({ phase: 'Denied', decidedAt: timestamp(NOW + byMs), verdicts: verdict('Denied') })
    expect(await permits.ask(held)).toMatchObject({ kind: 'Waiting', permit: all()[0]?.metadata.name })
    await clock.advance(299_000)
    await permits.ask(held)
    expect(all()).toHaveLength(1)
    await clock.advance(1_000)
    await permits.ask(held)
    expect(all()).toHaveLength(2)
  })
})
