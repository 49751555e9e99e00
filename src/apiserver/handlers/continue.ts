// The token that fetches the next page: where the last one ended, and at which version it was read.
import { isObject } from '#lib/json.ts'
import { goSyntaxError } from '../codec/json-scan.ts'
import { badRequest } from '../status/refusal.ts'

export interface Continue {
  readonly revision: number
  /** The key of the last object of the page before. */
  readonly after: string
}

const VERSION = 'meta.k8s.io/v1'

export const writeContinue = ({ revision, after }: Continue): string =>
  Buffer.from(JSON.stringify({ v: VERSION, rv: revision, start: `${after}\u0000` })).toString('base64url')

export function readContinue(token: string): Continue {
  const text = Buffer.from(token, 'base64').toString('latin1')
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(token, 'base64').toString('utf8'))
  } catch (e) {
    if (e instanceof SyntaxError)
      throw badRequest(`invalid continue token: continue key is not valid: ${goSyntaxError(text) ?? e.message}`)
    throw e
  }
  if (!isObject(value) || value['v'] !== VERSION)
    throw badRequest(
      'invalid continue token: continue key is not valid: server does not recognize this encoded version',
    )
  const { rv, start } = value
  if (rv !== undefined && (typeof rv !== 'number' || !Number.isSafeInteger(rv)))
    throw badRequest(
      `invalid continue token: continue key is not valid: json: cannot unmarshal ${typeof rv === 'number' ? `number ${rv}` : typeof rv} into Go struct field continueToken.rv of type int64`,
    )
  if (typeof start === 'string' && start.split('/').some((part) => part === '..' || part === '.'))
    throw badRequest(`invalid continue token: continue key is not valid: ${start}`)
  if (typeof rv !== 'number' || typeof start !== 'string' || start === '')
    throw badRequest('invalid continue token: continue key is not valid: incorrect encoded start resourceVersion')
  return { revision: rv, after: start.endsWith('\u0000') ? start.slice(0, -1) : start }
}
