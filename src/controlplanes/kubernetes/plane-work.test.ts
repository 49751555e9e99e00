// How long one call waits.
import { expect, test } from 'vitest'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { NotYet } from '../port.ts'
import { PlaneRecords } from './plane-record.ts'
import { PlaneWork } from './plane-work.ts'

test('a call ends in its time, also when the clock is set back by hours meanwhile', async () => {
  let [passed, offset] = [0, 0]
  const clock = {
    ...systemClock,
    now: () => Date.UTC(2030, 0, 1) + passed + offset,
    monotonic: () => passed,
    sleep: async (ms: number) => {
      passed += ms
      offset = -5 * 3_600_000
    },
  }
  const client = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1) }).client({ actor: 'cluster' })
  const options = { client, fieldManager: 'kubenode-cluster', clock, versions: () => [], readLog: async () => '' }
  const work = new PlaneWork(options, new PlaneRecords(client, 'kubenode-cluster'))
  await expect(work.until('its pods end', undefined, async () => passed > 600_000, 20_000)).rejects.toThrow(NotYet)
  expect(passed).toBeLessThan(25_000)
})
