// Impersonation: reads the headers and checks whether the real user may act as the other.
import type { IncomingHttpHeaders } from 'node:http'
import { badRequest, forbidden } from '../status/refusal.ts'
import { refusalText, type Attributes, type Authorizer } from './authorizer.ts'
import { anonymous, AUTHENTICATED, serviceAccountGroups, UNAUTHENTICATED, type RequestUser } from './user.ts'

const EXTRA = 'impersonate-extra-'

export function impersonated(
  user: RequestUser,
  headers: IncomingHttpHeaders,
  distinct: NodeJS.Dict<string[]>,
  authorizer: Authorizer,
): RequestUser {
  const name = headers['impersonate-user']
  const groups = distinct['impersonate-group'] ?? []
  const uid = headers['impersonate-uid']
  const extraKeys = Object.keys(distinct).filter((k) => k.startsWith(EXTRA))
  if (name === undefined || Array.isArray(name) || name === '') {
    if (groups.length > 0 || extraKeys.length > 0 || uid !== undefined)
      throw badRequest('requested impersonation without impersonating a user name')
    return user
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name)
  const check = (a: Pick<Attributes, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>) => {
    const attributes = { verb: 'impersonate', ...a }
    if (!authorizer.allows(user, attributes))
      throw forbidden({ group: a.group, plural: a.resource }, a.name, refusalText(user, attributes))
  }
  const core = { group: '', subresource: '', namespace: '' }
  if (account === null) check({ ...core, resource: 'users', name })
  else check({ ...core, resource: 'serviceaccounts', namespace: account[1] ?? '', name: account[2] ?? '' })
  for (const g of groups) check({ ...core, resource: 'groups', name: g })
  const authentication = { group: 'authentication.k8s.io', namespace: '' }
  if (typeof uid === 'string') check({ ...authentication, resource: 'uids', subresource: '', name: uid })
  const extra: Record<string, readonly string[]> = {}
  for (const header of extraKeys) {
    const key = unescapedKey(header.slice(EXTRA.length))
    const values = distinct[header] ?? []
    for (const v of values) check({ ...authentication, resource: 'userextras', subresource: key, name: v })
    extra[key] = values
  }
  return {
    name,
    groups: impersonatedGroups(name, groups, account?.[1]),
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(extraKeys.length === 0 ? {} : { extra }),
  }
}

/** Invalid escapes are taken literally. */
function unescapedKey(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (e) {
    if (e instanceof URIError) return text
    throw e
  }
}

function impersonatedGroups(name: string, asked: readonly string[], namespace: string | undefined): readonly string[] {
  const groups = asked.length === 0 && namespace !== undefined ? serviceAccountGroups(namespace) : asked
  if (name === anonymous.name) return groups.includes(UNAUTHENTICATED) ? groups : [...groups, UNAUTHENTICATED]
  return groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED) ? groups : [...groups, AUTHENTICATED]
}
