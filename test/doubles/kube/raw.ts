// Raw paths that the fake answers: version and health, nothing more.
import type { RawRequest, RawResponse } from '#kube/client.ts'
import type { Core } from './core.ts'
import type { Call } from './faults.ts'
import { failure } from '#kube/errors.ts'

/** Enough for clients that look which server this is; the minor is the oldest that the project supports. */
const VERSION = { major: '1', minor: '32', gitVersion: 'v1.32.0-fake', platform: 'fake' }

export function answerRaw(_core: Core, request: RawRequest, _call: Call): RawResponse {
  const path = request.path.split('?')[0]
  if (request.method === 'GET' && path === '/version') return json(VERSION)
  if (request.method === 'GET' && (path === '/healthz' || path === '/readyz' || path === '/livez'))
    return { status: 200, headers: { 'content-type': 'text/plain' }, text: 'ok' }
  return json(failure(404, 'the server could not find the requested resource'), 404)
}

const json = (value: unknown, status = 200): RawResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(value),
})
