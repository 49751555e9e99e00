// Signs a call of an Alibaba Cloud API (signature version 3, ACS3-HMAC-SHA256). Parameters travel in the query; the body is empty.
import { createHmac } from 'node:crypto'
import type { ApiCall } from '../cloud/call.ts'
import type { Keys } from '../cloud/credentials.ts'
import type { CloudRequest } from '../cloud/http.ts'
import { percentEncoded } from '../cloud/percent.ts'
import { defined } from '#lib/defined.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface SignPlace {
  /** Such as https://ecs.cn-hangzhou.aliyuncs.com */
  readonly endpoint: string
  readonly version: string
  /** Unique per request: the vendor refuses a repeated one. */
  readonly nonce: string
  readonly now: number
}

const ALGORITHM = 'ACS3-HMAC-SHA256'

export function signedAcs3(
  { action, params }: ApiCall,
  keys: Keys,
  { endpoint, version, nonce, now }: SignPlace,
): CloudRequest {
  const url = new URL(endpoint)
  const query = sortedQuery(params)
  const headers: Record<string, string> = {
    host: url.host,
    'x-acs-action': action,
    'x-acs-content-sha256': sha256Hex(''),
    'x-acs-date': `${new Date(now).toISOString().slice(0, 19)}Z`,
    ...defined({ 'x-acs-security-token': keys.session }),
    'x-acs-signature-nonce': nonce,
    'x-acs-version': version,
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    'POST',
    '/',
    query,
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    headers['x-acs-content-sha256'],
  ].join('\n')
  const signature = createHmac('sha256', keys.secret)
    .update(`${ALGORITHM}\n${sha256Hex(canonical)}`)
    .digest('hex')
  const { host: _, ...sent } = headers
  return {
    method: 'POST',
    url: `${url.origin}/${query === '' ? '' : `?${query}`}`,
    headers: {
      ...sent,
      authorization: `${ALGORITHM} Credential=${keys.id},SignedHeaders=${names.join(';')},Signature=${signature}`,
    },
  }
}

const sortedQuery = (params: Readonly<Record<string, string>>): string =>
  Object.entries(params)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`)
    .join('&')
