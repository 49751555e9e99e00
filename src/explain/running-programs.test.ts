import { expect, test } from 'vitest'
import { microTimestamp } from '#lib/clock.ts'
import type { Lease } from '#runtime/lease.ts'
import { storyLines } from './finding.ts'
import { stoppedPrograms, stoppedStories } from './running-programs.ts'

const NOW = Date.parse('2026-01-05T02:07:10Z')

const lease = (program: string, ageMs: number, version = '1', holder = 'pod-a'): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: `kubenode-${program}`, uid: program, resourceVersion: version },
  spec: { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: microTimestamp(NOW - ageMs) },
})

/** Each read of a lease takes the next answer; the last one repeats. */
const client = (answers: Readonly<Record<string, readonly (Lease | undefined | Error)[]>>) => {
  const left = new Map(Object.entries(answers).map(([name, list]) => [`kubenode-${name}`, [...list]]))
  return {
    get: async (_type: unknown, { name }: { readonly name: string }) => {
      const list = left.get(name) ?? []
      const answer = list.length > 1 ? list.shift() : list[0]
      if (answer instanceof Error) throw answer
      return answer
    },
  } as unknown as Parameters<typeof stoppedPrograms>[0]
}
const clock = { now: () => NOW, sleep: async () => undefined } as unknown as Parameters<typeof stoppedPrograms>[2]

const fresh = [lease('controllers', 1_000)]

test.each([
  ['both renew', { controllers: fresh, defender: [lease('defender', 2_000)] }, []],
  ['one stopped', { controllers: fresh, defender: [lease('defender', 240_000)] }, [['defender', NOW - 240_000]]],
  [
    'one released its lease',
    { controllers: fresh, defender: [lease('defender', 3_000, '1', '')] },
    [['defender', NOW - 3_000]],
  ],
  ['one never ran', { controllers: fresh, defender: [] }, [['defender', undefined]]],
  [
    'our clock is ahead',
    { controllers: fresh, defender: [lease('defender', 240_000), lease('defender', 238_000, '2')] },
    [],
  ],
  ['leases may not be read', { controllers: fresh, defender: [new Error('forbidden')] }, []],
])('%s', async (_, answers, want) => {
  const found = await stoppedPrograms(client(answers), ['MachineComponentSet', 'Machine'], clock)
  expect(found.map((s) => [s.program, s.since])).toEqual(want)
})

test('a kind that no program moves on needs none', async () => {
  expect(await stoppedPrograms(client({}), ['ComponentConfig'], clock)).toEqual([])
})

test('a stopped program is told as an object is', () => {
  expect(stoppedStories([{ program: 'defender', since: NOW - 240_000 }], NOW).flatMap(storyLines)).toEqual([
    'defender',
    'Stopped for 4m: the Defender has not renewed the lease since Mon 5 Jan 02:03:10 UTC; no permit is granted, so disruptions do not begin',
    '  to see more: kubenode check',
  ])
})
