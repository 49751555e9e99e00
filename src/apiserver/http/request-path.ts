// What a path asks for: a resource in a group and version, in a namespace, by name, below it a subresource; or something else.

export interface ResourcePath {
  readonly group: string
  readonly version: string
  /** '' for cluster-scoped paths and lists over all namespaces. */
  readonly namespace: string
  readonly plural: string
  readonly name: string
  readonly subresource: string
  /** `/api/v1/watch/…`, long deprecated, still served. */
  readonly watch: boolean
}

export type ParsedPath =
  | { readonly kind: 'resource'; readonly path: ResourcePath }
  | { readonly kind: 'other'; readonly path: string }
  /** Inside /api or /apis, but not a resource path. */
  | { readonly kind: 'malformed'; readonly group: string; readonly version: string }

/** Undefined when an escape is broken. An escaped slash is a slash: the handler and the authorizer see the same path. */
export function parsePath(raw: string): ParsedPath | undefined {
  let path: string
  try {
    path = raw.includes('%') ? decodeURIComponent(raw) : raw
  } catch (e) {
    if (e instanceof URIError) return undefined
    throw e
  }
  const parts = path.split('/')
  if (parts.at(-1) === '') parts.pop()
  const core = parts[1] === 'api'
  const groupAt = 2
  const versionAt = core ? 2 : 3
  if ((!core && parts[1] !== 'apis') || parts.length <= versionAt + 1) return { kind: 'other', path }
  const group = core ? '' : (parts[groupAt] ?? '')
  const version = parts[versionAt] ?? ''
  let rest = parts.slice(versionAt + 1)
  const watch = rest[0] === 'watch' && rest.length > 1
  if (watch) rest = rest.slice(1)
  if (rest.includes('')) return { kind: 'malformed', group, version }
  return { kind: 'resource', path: { group, version, watch, ...resourceOf(rest) } }
}

type Below = Pick<ResourcePath, 'namespace' | 'plural' | 'name' | 'subresource'>

function resourceOf(rest: readonly string[]): Below {
  // /namespaces/x/status and /namespaces/x/finalize are subresources of the namespace itself
  const ofNamespace = rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize')
  if (rest[0] === 'namespaces' && rest.length > 2 && !ofNamespace) {
    const [, namespace = '', plural = '', name = '', ...sub] = rest
    return { namespace, plural, name, subresource: sub.join('/') }
  }
  const [plural = '', name = '', ...sub] = rest
  return { namespace: plural === 'namespaces' ? name : '', plural, name, subresource: sub.join('/') }
}
