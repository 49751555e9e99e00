// Checks signatures as a vendor does: rebuilt from what came over the wire, with code of its own, so that an error in our signing is not in both.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { FakeRequest } from './answers.ts'
import type { FakeKeys } from './region.ts'

export type Verdict = 'Good' | 'BadSignature' | 'UnknownKey' | 'BadSession' | 'Expired' | 'TooOld' | 'Unsigned'

interface VerifyTools {
  readonly keys: ReadonlyMap<string, FakeKeys>
  readonly now: number
}

const FIFTEEN_MINUTES = 15 * 60_000
const hex = (data: string) => createHash('sha256').update(data, 'utf8').digest('hex')
const mac = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data, 'utf8').digest()

const isEqual = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** The query as it was sent, put in order. */
function queryIn(path: string): string {
  const at = path.indexOf('?')
  return at < 0
    ? ''
    : path
        .slice(at + 1)
        .split('&')
        .sort()
        .join('&')
}

const headerLines = ({ headers }: FakeRequest, names: string) =>
  names
    .split(';')
    .map((n) => `${n}:${(headers[n] ?? '').trim()}\n`)
    .join('')

function judged(
  keys: FakeKeys | undefined,
  session: string | undefined,
  now: number,
  sentAt: number,
  isRight: (secret: string) => boolean,
): Verdict {
  if (keys === undefined) return 'UnknownKey'
  if (Math.abs(now - sentAt) > FIFTEEN_MINUTES) return 'TooOld'
  if (keys.session !== session) return 'BadSession'
  if (keys.expiresAt !== undefined && keys.expiresAt <= now) return 'Expired'
  return isRight(keys.secret) ? 'Good' : 'BadSignature'
}

/** Headers that Alibaba Cloud wants to be signed. */
const ACS_SIGNED = [
  'host',
  'x-acs-action',
  'x-acs-content-sha256',
  'x-acs-date',
  'x-acs-signature-nonce',
  'x-acs-version',
]

export function verifyAcs3(request: FakeRequest, { keys, now }: VerifyTools): Verdict {
  const { headers, method, path, body } = request
  const [, id = '', names = '', signature = ''] =
    /^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$/.exec(
      headers['authorization'] ?? '',
    ) ?? []
  const session = headers['x-acs-security-token']
  const wanted = [...ACS_SIGNED, ...(session === undefined ? [] : ['x-acs-security-token'])].sort()
  if (names !== wanted.join(';') || headers['x-acs-content-sha256'] !== hex(body)) return 'Unsigned'
  const text = `${method}\n${path.split('?')[0]}\n${queryIn(path)}\n${headerLines(request, names)}\n${names}\n${hex(body)}`
  return judged(keys.get(id), session, now, Date.parse(headers['x-acs-date'] ?? ''), (secret) =>
    isEqual(signature, mac(secret, `ACS3-HMAC-SHA256\n${hex(text)}`).toString('hex')),
  )
}

export function verifyV4(request: FakeRequest, region: string, service: string, { keys, now }: VerifyTools): Verdict {
  const { headers, method, path, body } = request
  const [, id = '', scope = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers['authorization'] ?? '',
    ) ?? []
  const date = headers['x-amz-date'] ?? ''
  const session = headers['x-amz-security-token']
  const list = names.split(';')
  const isWhole =
    list.includes('host') &&
    list.includes('x-amz-date') &&
    (session === undefined || list.includes('x-amz-security-token'))
  if (!isWhole || scope !== `${date.slice(0, 8)}/${region}/${service}/aws4_request`) return 'Unsigned'
  const canonical = `${method}\n${path.split('?')[0]}\n${queryIn(path)}\n${headerLines(request, names)}\n${names}\n${hex(body)}`
  const sentAt = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  return judged(keys.get(id), session, now, sentAt, (secret) => {
    const key = mac(mac(mac(mac(`AWS4${secret}`, date.slice(0, 8)), region), service), 'aws4_request')
    return isEqual(signature, mac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${hex(canonical)}`).toString('hex'))
  })
}
