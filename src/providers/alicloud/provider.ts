// The provider of Alibaba Cloud.
import { type CloudOptions, type CloudTools, createCloudProvider } from '../cloud/vendor.ts'
import type { Provider } from '../port.ts'
import { alicloudKeys } from './credentials.ts'
import { ECS } from './dialect.ts'
import { ecsWire } from './wire.ts'

/** Calls per minute. The vendor sets quotas per account and action, shown in its console; these are cautious assumptions. */
const USUAL: Readonly<Record<string, number>> = { DescribeInstances: 300, RunInstances: 60 }
const USUAL_OTHERS = 60

const ALICLOUD = {
  dialect: ECS,
  endpointOf: (region: string) => `https://ecs.${region}.aliyuncs.com`,
  wire: ecsWire,
  keys: alicloudKeys,
  period: 'Minute',
  usualLimit: (action: string) => {
    const perMinute = USUAL[action] ?? USUAL_OTHERS
    return { perSecond: perMinute / 60, burst: Math.max(1, perMinute / 10) }
  },
} as const

export const createAlicloudProvider = (options: CloudOptions, tools: CloudTools): Provider =>
  createCloudProvider(ALICLOUD, options, tools)
