// Wires the provider of AWS: keys, rate, calls, hosts.
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
import { createEc2Api } from './api.ts'
import { awsDomain, type AwsKeyOptions, awsKeys } from './credentials.ts'
import { ec2Wire } from './wire.ts'

export interface AwsOptions extends AwsKeyOptions {
  readonly cluster: string
  readonly endpoint?: string
  readonly limits?: Readonly<Record<string, number>>
}

export interface AwsTools extends CloudProviderTools {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** Another way to the cloud, in tests; HTTP when left out. */
  readonly transport?: Transport
  readonly random?: Random
}

/** Buckets of requests as the vendor describes them. That of instances is never the tighter one: we ask for one in a call. */
const USUAL: Readonly<Record<string, Limit>> = {
  DescribeInstances: { perSecond: 20, burst: 100 },
  DescribeInstanceStatus: { perSecond: 20, burst: 100 },
  RunInstances: { perSecond: 2, burst: 5 },
  StartInstances: { perSecond: 2, burst: 5 },
}
const USUAL_OTHERS: Limit = { perSecond: 5, burst: 50 }

export function createAwsProvider(options: AwsOptions, tools: AwsTools): Provider {
  const { region, cluster, endpoint = `https://ec2.${region}.${awsDomain(region)}` } = options
  const { clock, env, transport = fetchTransport, random = systemRandom } = tools
  const call = createCaller({
    wire: ec2Wire(endpoint, region),
    transport,
    credentials: new Credentials(keySource(options, { transport, clock, env }), clock),
    rate: new Rate({
      clock,
      limitOf: withLimits((action) => USUAL[action] ?? USUAL_OTHERS, options.limits),
      period: 'Second',
    }),
    clock,
    random,
  })
  return new CloudProvider(createEc2Api({ region, cluster, call }), tools)
}

function keySource(...from: Parameters<typeof awsKeys>): ReturnType<typeof awsKeys> {
  try {
    return awsKeys(...from)
  } catch (e) {
    throw new KubeNodeError(providersErrors.KN11047({ name: 'aws', why: messageOf(e) }))
  }
}
