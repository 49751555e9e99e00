// The provider of Alibaba Cloud.
import { type CloudOptions, type CloudTools, createCloudProvider } from '../cloud/vendor.ts'
import type { Provider } from '../port.ts'
import { alicloudKeys } from './credentials.ts'
import { ECS } from './dialect.ts'
import { randomBytes } from 'node:crypto'
import type { Read, Wire } from '../cloud/call.ts'
import { parsed } from '../cloud/credentials.ts'
import type { CloudAnswer } from '../cloud/http.ts'
import { textIn } from '../cloud/json.ts'
import { isObject } from '#lib/json.ts'
import { readBy } from '../cloud/codes.ts'
import { ECS_ERROR_CODES } from './codes.ts'
import { signedAcs3 } from './sign.ts'

/** The wire format of Alibaba Cloud's APIs: signed parameters out, JSON back. */
const ECS_VERSION = '2014-05-26'

const ecsWire = (endpoint: string): Wire => ({
  sign: (call, keys, now) =>
    signedAcs3(call, keys, { endpoint, version: ECS_VERSION, nonce: randomBytes(16).toString('hex'), now }),
  read: readJson,
  ...readBy(ECS_ERROR_CODES),
})

function readJson({ status, headers, text }: CloudAnswer): Read {
  const body = parsed(text)
  if (!isObject(body)) return { kind: 'Unreadable' }
  if (status === 200) return { kind: 'Body', body }
  const code = textIn(body, 'Code')
  if (code === undefined) return { kind: 'Unreadable' }
  const retryAfterMs = Number(headers['x-acs-retry-after'] ?? Number.NaN)
  return {
    kind: 'Code',
    code,
    message: textIn(body, 'Message') ?? '',
    ...(Number.isFinite(retryAfterMs) && retryAfterMs > 0 && { retryAfterMs }),
  }
}

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
