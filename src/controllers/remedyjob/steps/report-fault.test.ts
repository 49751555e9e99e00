import { expect, test } from 'vitest'
import type { Provider } from '#providers/port.ts'
import type { Seen } from '../seen.ts'
import { faultText, reportFault } from './report-fault.ts'
import type { JobTools } from './step-tools.ts'
import { defined } from '#lib/defined.ts'

const node = {
  metadata: { name: 'n-1' },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', message: 'well' },
      { type: 'MemoryFaulty', status: 'True', message: 'UE on DIMM_A1' },
      { type: 'DiskPressure', status: 'False' },
    ],
  },
}
const seen = (more: object = {}): Seen =>
  ({
    job: { metadata: { name: 'j' }, spec: { remedierRef: { name: 'memory' } } },
    node,
    machine: { spec: { provider: { name: 'cloud' }, providerID: 'cloud://h-1' } },
    others: [],
    ...more,
  }) as unknown as Seen

const heard: string[][] = []
const provider = (answer: () => Promise<'Ordered' | 'Gone'>) =>
  ({
    name: 'cloud',
    reportFault: async (...said: readonly unknown[]) => {
      heard.push(said.slice(0, 3).map(String))
      return answer()
    },
  }) as unknown as Provider
const run = (cloud: Provider | undefined, of: Seen, text?: string) =>
  reportFault(
    { providers: cloud === undefined ? {} : { cloud } } as unknown as JobTools,
    { category: 'Memory', ...defined({ text }) },
    of,
    new AbortController().signal,
  )

test('the provider gets the host, the part and what the node shows, and its answer is kept', async () => {
  heard.length = 0
  const went = await run(
    provider(async () => 'Ordered'),
    seen(),
  )
  expect(went).toEqual({ outcome: 'Succeeded', output: 'cloud accepted the report (Memory)' })
  expect(heard).toEqual([['cloud://h-1', 'Memory', 'rule memory; MemoryFaulty=True (UE on DIMM_A1)']])
})

test('a text of the rule is sent instead, and a node that is not Ready is described', async () => {
  heard.length = 0
  await run(
    provider(async () => 'Ordered'),
    seen(),
    'three times in a day',
  )
  expect(heard[0]?.[2]).toBe('three times in a day')
  const silent = { status: { conditions: [{ type: 'Ready', status: 'Unknown', message: 'no\u0007heartbeat' }] } }
  expect(faultText(seen({ node: silent }))).toBe('rule memory; Ready=Unknown (no\ufffdheartbeat)')
})

const inhibited = { status: { conditions: [{ type: 'Inhibited', status: 'True', message: 'kernel 6.12 is blamed' }] } }

test.each([
  ['people or the vendor work on the host', seen({ maintained: 'maintenanceevent/x' }), 'the cause is known'],
  ['a change is blamed', seen({ remedier: inhibited }), 'a change is blamed: kernel 6.12 is blamed'],
])('nothing is reported while %s', async (_, of, why) => {
  heard.length = 0
  const went = await run(
    provider(async () => 'Ordered'),
    of,
  )
  expect(went).toMatchObject({ outcome: 'Skipped', output: expect.stringContaining(`not reported: ${why}`) as string })
  expect(heard).toEqual([])
})

test.each<[string, Provider | undefined, string]>([
  ['is not served here', undefined, 'provider "cloud" is not configured in these controllers'],
  ['takes no reports', { name: 'cloud' } as Provider, 'provider cloud takes no reports'],
  ['no longer has the host', provider(async () => 'Gone'), 'cloud no longer has host cloud://h-1'],
  [
    'does not answer',
    provider(async () => {
      throw new Error('timed out')
    }),
    'no answer of cloud, not repeated: timed out',
  ],
])('a repair goes on without the report when its provider %s', async (_, cloud, why) => {
  expect(await run(cloud, seen())).toEqual({ outcome: 'Skipped', output: `not reported: ${why}` })
})
