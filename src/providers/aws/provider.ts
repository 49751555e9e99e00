// The provider of AWS.
import type { Limit } from '../cloud/rate.ts'
import { type CloudOptions, type CloudTools, createCloudProvider } from '../cloud/vendor.ts'
import type { Provider } from '../port.ts'
import { awsDomain, awsKeys } from './credentials.ts'
import { EC2 } from './dialect.ts'
import { ec2Wire } from './wire.ts'

/** Token buckets as the vendor documents them. The instance bucket is never the tighter one, because each call requests one instance. */
const USUAL: Readonly<Record<string, Limit>> = {
  DescribeInstances: { perSecond: 20, burst: 100 },
  DescribeInstanceStatus: { perSecond: 20, burst: 100 },
  RunInstances: { perSecond: 2, burst: 5 },
  StartInstances: { perSecond: 2, burst: 5 },
}
const USUAL_OTHERS: Limit = { perSecond: 5, burst: 50 }

const AWS = {
  dialect: EC2,
  endpointOf: (region: string) => `https://ec2.${region}.${awsDomain(region)}`,
  wire: ec2Wire,
  keys: awsKeys,
  period: 'Second',
  usualLimit: (action: string) => USUAL[action] ?? USUAL_OTHERS,
} as const

export const createAwsProvider = (options: CloudOptions, tools: CloudTools): Provider =>
  createCloudProvider(AWS, options, tools)
