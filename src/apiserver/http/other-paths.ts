// Every path that is no resource: discovery, OpenAPI, version, health.
import type { IncomingMessage } from 'node:http'
import { authorize } from '../auth/authorize.ts'
import { ISSUER } from '../auth/tokens.ts'
import type { RequestUser } from '../builtin/kind.ts'
import { encodeJson } from '../codec/json.ts'
import { aggregatedDiscovery } from '../discovery/aggregated.ts'
import { apiGroup, coreVersions, groupList, resourceList, versionDocument } from '../discovery/documents.ts'
import type { Answer, ServerParts } from '../handlers/context.ts'
import { methodNotAllowed, nothingServed } from '../status/refusal.ts'
import { acceptedForm } from './accept.ts'
import { pretty } from './pretty.ts'

export interface OtherRequest {
  readonly parts: ServerParts
  readonly request: IncomingMessage
  readonly query: URLSearchParams
  readonly user: RequestUser
  readonly path: string
}

export const PAGE_NOT_FOUND: Answer = {
  code: 404,
  body: Buffer.from('404 page not found\n'),
  type: 'text/plain; charset=utf-8',
}

const json = (value: unknown, type = 'application/json'): Answer => ({ code: 200, body: encodeJson(value), type })
const text = (body: string): Answer => ({ code: 200, body: Buffer.from(body), type: 'text/plain; charset=utf-8' })

const HEALTH: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz'])
/** The single checks that clients of a kube-apiserver know; all of them are whether this server answers. */
const CHECKS: ReadonlySet<string> = new Set(['', 'ping', 'log', 'etcd'])
/** Answered however busy the server is. */
export const isHealth = (path: string): boolean => HEALTH.has(path.split('/', 2)[1] ?? '')

export async function otherPath(o: OtherRequest): Promise<Answer> {
  const { parts, request, user, path } = o
  const verb = (request.method ?? 'GET').toLowerCase()
  authorize(parts.authorizer, user, { verb, group: '', resource: '', subresource: '', namespace: '', name: '', path })
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  const segments = trimmed.split('/').slice(1)
  const [first, second, third] = segments
  const { registry } = parts
  switch (first) {
    case 'api':
      if (segments.length === 1) return versions(o, true)
      return documentOr(o, resourceList(registry, '', second ?? ''), nothingServed)
    case 'apis':
      if (segments.length === 1) return versions(o, false)
      if (segments.length === 2) return documentOr(o, apiGroup(registry, second ?? ''), undefined)
      return documentOr(
        o,
        resourceList(registry, second ?? '', third ?? ''),
        registry.isBuiltinGroup(second ?? '') ? nothingServed : undefined,
      )
    case 'version':
      if (segments.length > 1) throw nothingServed()
      // always indented
      return pretty(json(versionDocument(parts.version)))
    case 'healthz':
    case 'livez':
    case 'readyz':
      if (segments.length > 2 || !CHECKS.has(second ?? '')) return PAGE_NOT_FOUND
      return text(o.query.has('verbose') ? `[+]ping ok\n[+]storage ok\n${first} check passed\n` : 'ok')
    case '.well-known':
      return trimmed === '/.well-known/openid-configuration' ? cached(issuerDocument(request)) : PAGE_NOT_FOUND
    case 'openid':
      return trimmed === '/openid/v1/jwks'
        ? cached({ keys: parts.signer.publicKeys }, 'application/jwk-set+json')
        : PAGE_NOT_FOUND
    case 'openapi': {
      const { openApi } = await import('../openapi/answers.ts')
      return openApi(registry, request.headers.accept, segments.slice(1)) ?? PAGE_NOT_FOUND
    }
    case '':
    case undefined:
      return pretty(
        json({
          paths: [
            '/api',
            '/api/v1',
            '/apis',
            ...registry
              .groups()
              .filter((g) => g !== '')
              .map((g) => `/apis/${g}`),
            '/.well-known/openid-configuration',
            '/healthz',
            '/livez',
            '/openapi/v2',
            '/openapi/v3',
            '/openid/v1/jwks',
            '/readyz',
            '/version',
          ],
        }),
      )
    default:
      return PAGE_NOT_FOUND
  }
}

/** Where programs learn how to verify a service account's token. */
const issuerDocument = ({ headers }: IncomingMessage) => ({
  issuer: ISSUER,
  jwks_uri: `https://${headers.host ?? ''}/openid/v1/jwks`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
})

/** For an hour, as keys change rarely. */
const cached = (value: unknown, type?: string): Answer => ({
  ...json(value, type),
  headers: { 'cache-control': 'public, max-age=3600' },
})

function versions(o: OtherRequest, core: boolean): Answer {
  onlyGet(o)
  const { parts, request } = o
  const { accept, 'if-none-match': known } = request.headers
  if (acceptedForm(accept).discovery) return aggregatedDiscovery(parts.registry, core, known)
  return json(core ? coreVersions(request.headers.host ?? '') : groupList(parts.registry))
}

function documentOr(o: OtherRequest, document: unknown, refusal: (() => Error) | undefined): Answer {
  if (document === undefined) {
    if (refusal !== undefined) throw refusal()
    return PAGE_NOT_FOUND
  }
  onlyGet(o)
  return json(document)
}

function onlyGet({ request }: OtherRequest): void {
  if (request.method !== 'GET') throw methodNotAllowed()
}
