// The run against a real cloud, in fake regions: what it refuses, what it says before it begins, and that nothing is left over, whatever fails.
import { messageOf } from '#lib/errors.ts'
import { settled, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { createAlicloudProvider } from '#providers/alicloud/provider.ts'
import { createAwsProvider } from '#providers/aws/provider.ts'
import type { FakeRegion } from '#test/doubles/clouds/region.ts'
import { fakeRegion, KEY, OPEN_LIMITS, transportTo, VENDORS, type Vendor } from '#test/doubles/clouds/worlds.ts'
import { describe, expect, test } from 'vitest'
import { type LivePlan, livePlan, PERMISSION } from './plan.ts'
import { type LiveResult, liveRun } from './run.ts'

const GIVEN = ['image=ami-1', 'type=m7i.large', 'subnets=subnet-1', 'securityGroups=sg-1']
const PERMITTED = { [PERMISSION]: 'aws/eu-central-1' }

describe('a run against a real cloud', () => {
  test.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
    [
      'without the variable',
      ['aws', 'eu-central-1', ...GIVEN],
      {},
      /costs money: it needs KUBENODE_LIVE=aws\/eu-central-1/,
    ],
    ['with the variable for another region', ['aws', 'us-east-1', ...GIVEN], PERMITTED, /it needs/],
    ['with any other value of it', ['aws', 'eu-central-1', ...GIVEN], { [PERMISSION]: '1' }, /it needs/],
    ['at an unknown vendor', ['gcp', 'eu-central-1'], PERMITTED, /none of aws, alicloud/],
    ['in no region', ['aws'], PERMITTED, /region "" is none/],
    ['without parameters', ['aws', 'eu-central-1', 'image=ami-1'], PERMITTED, /missing: type, subnets, securityGroups/],
    ['with half of a parameter', ['aws', 'eu-central-1', ...GIVEN, 'tags='], PERMITTED, /"tags=" is not NAME=VALUE/],
  ])('%s is refused', (_, args, env, why) => {
    expect(livePlan(args, env)).toMatchObject({ kind: 'Refused', why: expect.stringMatching(why) as string })
  })

  test('says what it creates, and under which tag', () => {
    const plan = livePlan(['aws', 'eu-central-1', ...GIVEN], PERMITTED, 'r-1') as LivePlan
    expect(plan.says[0]).toBe(
      'creates one instance m7i.large with its disks in eu-central-1 of aws, tagged kubenode.io/cluster=kubenode-live-r-1',
    )
    const other = livePlan(['aws', 'eu-central-1', ...GIVEN], PERMITTED) as LivePlan
    expect(other.cluster).not.toBe(plan.cluster)
  })
})

async function ran(v: Vendor, change: (region: FakeRegion, stop: AbortController) => void, others = 0) {
  const clock = new VirtualClock()
  const region = fakeRegion(v, { clock, pendingMs: 20_000, stoppingMs: 20_000, deletingMs: 20_000 })
  for (let i = 0; i < others; i++)
    region.run({
      token: `${i}`,
      asked: '',
      zone: v.zones[0],
      type: v.type,
      isSpot: false,
      tags: new Map([['a', 'b']]),
      userData: '',
      needsMetadataSession: true,
    })
  const pairs = Object.entries(v.params).map(([name, value]) => `${name}=${value}`)
  const plan = livePlan([v.name, v.region, ...pairs], { [PERMISSION]: `${v.name}/${v.region}` })
  if (plan.kind === 'Refused') throw new Error(plan.why)
  const stop = new AbortController()
  const env = {
    ALIBABA_CLOUD_ACCESS_KEY_ID: KEY.id,
    ALIBABA_CLOUD_ACCESS_KEY_SECRET: KEY.secret,
    AWS_ACCESS_KEY_ID: KEY.id,
    AWS_SECRET_ACCESS_KEY: KEY.secret,
  }
  const make = v.name === 'aws' ? createAwsProvider : createAlicloudProvider
  const provider = make(
    { region: v.region, cluster: plan.cluster, credentials: 'Environment', limits: OPEN_LIMITS },
    { clock, env, transport: transportTo(v.fake(region)), userData: () => '#cloud-config\n' },
  )
  change(region, stop)
  const lines: string[] = []
  const state: { result?: LiveResult } = {}
  const running = liveRun(plan, { provider, clock, say: (line) => lines.push(line), signal: stop.signal })
  void running.then((result) => (state.result = result)).catch((e: unknown) => lines.push(messageOf(e)))
  for (await settled(); state.result === undefined; await settled())
    if (!clock.fireNext()) throw new Error(`it waits for nothing: ${lines.join('\n')}`)
  return { region, lines, result: state.result, made: region.instances.size - others }
}

describe.each(VENDORS)('at $name', (v) => {
  test('one host is made, used and deleted, and hosts of others stay', async () => {
    const { region, result, lines, made } = await ran(v, () => undefined, 2)
    expect(result, lines.join('\n')).toEqual({ failed: [], left: [] })
    expect([made, region.alive().length]).toEqual([1, 2])
  })

  test('nothing is left when replies are lost, or when a person ends it', async () => {
    const lost = await ran(v, ({ faults }) => (faults.lostReplies = 0.5))
    expect([lost.result.left, lost.region.alive()]).toEqual([[], []])
    const ended = await ran(v, (_, stop) => stop.abort(new Error('ended by SIGINT')))
    expect([ended.result, ended.region.alive()]).toEqual([{ failed: ['ended by SIGINT'], left: [] }, []])
  })

  test('a host whose every reply was lost and that lists show late is deleted all the same', async () => {
    const { region, result } = await ran(v, ({ faults }) => {
      faults.visibleAfterMs = 60_000
      faults.lostReplies = 1
    })
    // The replies to its deletion are lost too: a host that no list shows any longer was deleted.
    expect([result.failed.length, region.alive()]).toEqual([1, []])
  })
})
