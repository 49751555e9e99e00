// Signs an AWS API call (Signature Version 4). The key is derived per day, region and service, so a leaked one opens little.
import { createHmac } from 'node:crypto'
import type { Keys } from '../cloud/credentials.ts'
import { percentEncoded } from '../cloud/percent.ts'
import type { CloudRequest } from '../cloud/http.ts'
import { defined } from '#lib/defined.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface SigV4Place {
  readonly region: string
  readonly service: string
  readonly now: number
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The request with its date, the keys' session token, and its signature. */
export function signedV4(request: CloudRequest, keys: Keys, { region, service, now }: SigV4Place): CloudRequest {
  const url = new URL(request.url)
  const date = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  const signed: Record<string, string> = {
    ...request.headers,
    host: url.host,
    'x-amz-date': date,
    ...defined({ 'x-amz-security-token': keys.session }),
  }
  const names = Object.keys(signed).sort()
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url.searchParams),
    ...names.map((name) => `${name}:${signed[name]?.trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    sha256Hex(request.body ?? ''),
  ].join('\n')
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`
  const key = scope.split('/').reduce<string | Buffer>((k, part) => hmac(k, part), `AWS4${keys.secret}`)
  const signature = hmac(key, [ALGORITHM, date, scope, sha256Hex(canonical)].join('\n')).toString('hex')
  const { host: _, ...sent } = signed
  const authorization = `${ALGORITHM} Credential=${keys.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...request, headers: { ...sent, authorization } }
}

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`)
    .toSorted()
    .join('&')
