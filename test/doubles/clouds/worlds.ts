// A fake region of each vendor with a provider in front of it, over HTTP or on a virtual clock.
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Transport } from '#providers/cloud/http.ts'
import { ECS_ACTIONS } from '#providers/alicloud/actions.ts'
import { createAlicloudProvider } from '#providers/alicloud/provider.ts'
import { EC2_ACTIONS } from '#providers/aws/actions.ts'
import { createAwsProvider } from '#providers/aws/provider.ts'
import type { HostRequest, Provider } from '#providers/port.ts'
import type { Handler } from './answers.ts'
import { fakeEc2 } from './fake-ec2.ts'
import { fakeEcs } from './fake-ecs.ts'
import { FakeRegion, type RegionOptions } from './region.ts'

export const KEY = { id: 'AKIDFAKE', secret: 'a-secret-that-nobody-may-see' }
export const CLUSTER = 'c0ffee00-0000-4000-8000-000000000001'

export interface Vendor {
  readonly name: 'alicloud' | 'aws'
  readonly region: string
  readonly zones: readonly [string, string]
  readonly type: string
  readonly params: Readonly<Record<string, string>>
  /** What the vendor counts its calls in, and the action that lists hosts. */
  readonly runAction: string
  fake(region: FakeRegion): Handler
  provider(tools: ProviderTools): Provider
}

/** More than any test calls. */
export const OPEN_LIMITS = Object.fromEntries([...ECS_ACTIONS, ...EC2_ACTIONS].map((a) => [a, 60_000]))

/** Pauses are short, so that a call that is repeated three times takes no seconds; deadlines are those of the provider. */
export const quickClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 2), signal),
  after: (ms, fn) => systemClock.after(ms <= 100 ? 1 : ms, fn),
}

/** Without a network between. */
export const transportTo =
  (handler: Handler): Transport =>
  async ({ method, url, headers, body = '' }) => {
    const { pathname, search, host } = new URL(url)
    const answer = handler({ method, path: pathname + search, headers: { host, ...headers }, body })
    if (typeof answer === 'string') throw new Error('connection reset before the reply')
    return { status: answer.status, headers: { ...answer.headers }, text: answer.text }
  }

interface ProviderTools {
  readonly clock: Clock
  readonly endpoint: string
  readonly transport?: Transport
  readonly limits?: Readonly<Record<string, number>>
  readonly userData?: (join: JoinBundle) => string
}

const env = {
  ALIBABA_CLOUD_ACCESS_KEY_ID: KEY.id,
  ALIBABA_CLOUD_ACCESS_KEY_SECRET: KEY.secret,
  AWS_ACCESS_KEY_ID: KEY.id,
  AWS_SECRET_ACCESS_KEY: KEY.secret,
}
const joins = (join: JoinBundle) => `#cloud-config\n# ${JSON.stringify(join)}\n`

const vendor = (v: Omit<Vendor, 'provider'>, make: typeof createAlicloudProvider): Vendor => ({
  ...v,
  provider: ({ endpoint, limits, userData = joins, ...tools }) =>
    make(
      { region: v.region, cluster: CLUSTER, credentials: 'Environment', endpoint, ...defined({ limits }) },
      { ...tools, env, userData, random: seededRandom(7) },
    ),
})

export const VENDORS: readonly [Vendor, Vendor] = [
  vendor(
    {
      name: 'alicloud',
      region: 'cn-hangzhou',
      zones: ['cn-hangzhou-i', 'cn-hangzhou-j'],
      type: 'ecs.g8i.large',
      params: {
        image: 'debian_12',
        type: 'ecs.g8i.large',
        vSwitches: 'cn-hangzhou-i=vsw-1,cn-hangzhou-j=vsw-2',
        securityGroups: 'sg-1',
        systemDisk: 'cloud_essd:40',
      },
      runAction: 'RunInstances',
      fake: fakeEcs,
    },
    createAlicloudProvider,
  ),
  vendor(
    {
      name: 'aws',
      region: 'eu-central-1',
      zones: ['eu-central-1a', 'eu-central-1b'],
      type: 'm7i.large',
      params: {
        image: 'ami-1',
        type: 'm7i.large',
        subnets: 'eu-central-1a=subnet-1,eu-central-1b=subnet-2',
        securityGroups: 'sg-1',
        systemDisk: 'gp3:40',
      },
      runAction: 'RunInstances',
      fake: fakeEc2,
    },
    createAwsProvider,
  ),
]

export function fakeRegion(v: Vendor, options: Omit<RegionOptions, 'name' | 'random'>, seed = 1): FakeRegion {
  const region = new FakeRegion({ ...options, name: v.region, random: seededRandom(seed) })
  region.keys.set(KEY.id, { secret: KEY.secret })
  region.images.add(v.params['image'] ?? '')
  return region
}

export const hostRequest = (v: Vendor, machine: string, more: Partial<HostRequest> = {}): HostRequest => ({
  clientToken: `token-${machine}`,
  machine,
  machineUid: `uid-${machine}`,
  params: v.params,
  join: {
    server: 'https://10.0.0.1:6443',
    caData: 'Q0E=',
    token: 'abcdef.0123456789abcdef',
    machine,
    node: machine,
    cluster: 'test',
    artifactBase: 'https://artifacts.example/',
    trust: { sequence: 1, threshold: 1, keys: [] },
  },
  ...more,
})
