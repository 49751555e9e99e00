// Wires the provider of Alibaba Cloud: keys, rate, calls, hosts.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { systemRandom, type Random } from '#lib/random.ts'
import { createCaller } from '../cloud/call.ts'
import { CloudProvider, type CloudProviderTools } from '../cloud/cloud-provider.ts'
import { Credentials } from '../cloud/credentials.ts'
import { fetchTransport, type Transport } from '../cloud/http.ts'
import { withLimits } from '../cloud/options.ts'
import { type Limit, Rate } from '../cloud/rate.ts'
import type { Provider } from '../port.ts'
import { providersErrors } from '../providers-errors.ts'
import { createEcsApi } from './api.ts'
import { type AlicloudKeyOptions, alicloudKeys } from './credentials.ts'
import { ecsWire } from './wire.ts'

export interface AlicloudOptions extends AlicloudKeyOptions {
  readonly cluster: string
  readonly endpoint?: string
  readonly limits?: Readonly<Record<string, number>>
}

export interface AlicloudTools extends CloudProviderTools {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** Another way to the cloud, in tests; HTTP when left out. */
  readonly transport?: Transport
  readonly random?: Random
}

/** Calls in a minute. The vendor sets quotas for each account and action and shows them in its console; these are assumed, and careful. */
const USUAL: Readonly<Record<string, number>> = { DescribeInstances: 300, RunInstances: 60 }
const USUAL_OTHERS = 60

const usualLimit = (action: string): Limit => {
  const perMinute = USUAL[action] ?? USUAL_OTHERS
  return { perSecond: perMinute / 60, burst: Math.max(1, perMinute / 10) }
}

export function createAlicloudProvider(options: AlicloudOptions, tools: AlicloudTools): Provider {
  const { region, cluster, endpoint = `https://ecs.${region}.aliyuncs.com` } = options
  const { clock, env, transport = fetchTransport, random = systemRandom } = tools
  const call = createCaller({
    wire: ecsWire(endpoint),
    transport,
    credentials: new Credentials(keySource(options, { transport, clock, env }), clock),
    rate: new Rate({ clock, limitOf: withLimits(usualLimit, options.limits, 60), period: 'Minute' }),
    clock,
    random,
  })
  return new CloudProvider(createEcsApi({ region, cluster, call }), tools)
}

function keySource(...from: Parameters<typeof alicloudKeys>): ReturnType<typeof alicloudKeys> {
  try {
    return alicloudKeys(...from)
  } catch (e) {
    throw new KubeNodeError(providersErrors.KN11047({ name: 'alicloud', why: messageOf(e) }))
  }
}
