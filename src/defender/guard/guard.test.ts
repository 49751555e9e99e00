import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import type { KubeClient } from '#kube/client.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Caches } from '../caches.ts'
import { DefenderTime } from '../defender-time.ts'
import type { Deletion } from './deletion.ts'
import { createGuard } from './guard.ts'

/** Not fresh: only the ledger is trusted. */
const caches = new Proxy({}, { get: () => ({ list: () => [], get: () => undefined }) }) as unknown as Caches

const nodeDeletion = (n: number): Deletion => ({
  group: '',
  kind: 'Node',
  name: `n-${n}`,
  namespace: '',
  uid: `uid-${n}`,
  user: 'ada',
  isEnding: false,
  isDryRun: false,
})

function world(slow: (client: KubeClient) => KubeClient = (client) => client) {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const fake = new FakeKube({ clock, random, kinds: [{ type: defenderLedger }], bookmarkEveryMs: 0 })
  fake.plant(defenderLedger, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderLedger',
    metadata: { name: LEDGER_NAME },
    spec: { sequence: 1 },
  })
  const client = slow(fake.client({ actor: 'defender' }))
  const guard = createGuard({ client, caches, clock, random, time: new DefenderTime(clock), identity: 'a' })
  return { clock, guard }
}

test('of many deletions at once exactly as many pass as the window has room for, and none fails to be recorded', async () => {
  const { clock, guard } = world()
  const answers = Promise.all(Array.from({ length: 40 }, (_, n) => guard(nodeDeletion(n))))
  await clock.advance(60_000)
  const verdicts = await answers
  expect(verdicts.filter((v) => v.kind === 'Passes')).toHaveLength(3)
  const whys = verdicts.flatMap((v) => (v.kind === 'Held' ? [v.why] : []))
  expect(whys.filter((why) => !why.startsWith('3 of kind Node were deleted in 1m, the limit is 3'))).toEqual([])
})

test('a deletion that cannot be recorded is refused before the API server stops waiting and lets it pass', async () => {
  const never = (client: KubeClient): KubeClient => ({ ...client, get: () => new Promise(() => undefined) })
  const { clock, guard } = world(never)
  const answers = [0, 1].map((n) => guard(nodeDeletion(n)))
  await clock.advance(9_000)
  const overloaded = { kind: 'Held', why: expect.stringContaining('overloaded'), retryAfterMs: 1_000 }
  expect(await Promise.all(answers)).toEqual([overloaded, overloaded])
})
