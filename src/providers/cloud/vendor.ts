// A cloud as a provider: wires one vendor's keys, rate, calls, account and hosts.
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { type Random, systemRandom } from '#lib/random.ts'
import type { Provider } from '../port.ts'
import { providersErrors } from '../providers-errors.ts'
import { createAccount } from './account.ts'
import { createCaller, type Wire } from './call.ts'
import { CloudProvider, type CloudProviderTools } from './cloud-provider.ts'
import { Credentials, type KeySource } from './credentials.ts'
import type { CommonParams, Dialect } from './dialect.ts'
import { fetchTransport, type Transport } from './http.ts'
import type { KeyOptions, KeyTools } from './key-source.ts'
import { withLimits } from './options.ts'
import { type Limit, Rate, type RateOptions } from './rate.ts'

export interface CloudOptions extends KeyOptions {
  readonly cluster: string
  readonly endpoint?: string
  readonly limits?: Readonly<Record<string, number>>
}

export interface CloudTools extends CloudProviderTools {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Replaces HTTP in tests. */
  readonly transport?: Transport
  readonly random?: Random
}

/** Everything specific to a vendor: wire format, calls, credentials, and rate limits. */
export interface Vendor<Part, P extends CommonParams> {
  readonly dialect: Dialect<Part, P>
  endpointOf(region: string): string
  wire(endpoint: string, region: string): Wire
  keys(options: KeyOptions, tools: KeyTools): KeySource
  readonly period: RateOptions['period']
  /** Calls of an action per period, unless the operator sets others. */
  usualLimit(action: string): Limit
}

export function createCloudProvider<Part, P extends CommonParams>(
  vendor: Vendor<Part, P>,
  options: CloudOptions,
  tools: CloudTools,
): Provider {
  const { dialect, period } = vendor
  const { region, cluster, endpoint = vendor.endpointOf(region) } = options
  const { clock, env, transport = fetchTransport, random = systemRandom } = tools
  const limitOf = withLimits((action) => vendor.usualLimit(action), options.limits, period === 'Minute' ? 60 : 1)
  const call = createCaller({
    wire: vendor.wire(endpoint, region),
    transport,
    credentials: new Credentials(keySource(vendor, options, { transport, clock, env }), clock),
    rate: new Rate({ clock, limitOf, period }),
    clock,
    random,
  })
  return new CloudProvider(createAccount(dialect, { region, cluster, call }), tools)
}

function keySource<Part, P extends CommonParams>(
  { dialect: { name }, keys }: Pick<Vendor<Part, P>, 'dialect' | 'keys'>,
  options: KeyOptions,
  tools: KeyTools,
): KeySource {
  try {
    return keys(options, tools)
  } catch (e) {
    throw new KubeNodeError(providersErrors.KN11047({ name, why: messageOf(e) }))
  }
}
