// The authorizer as admission expressions use it: for the requesting user, or for a service account.
import type { Authorizer } from '../auth/authorizer.ts'
import { AUTHENTICATED, serviceAccountGroups, type RequestUser } from '../auth/user.ts'
import { authorizerValue, type MayThey } from '../machinery.ts'
import type { AdmissionRequest } from './chain.ts'

export function authorizerFor(authorizer: Authorizer, request: AdmissionRequest): ReturnType<typeof authorizerValue> {
  const may: MayThey = (verb, { path, ...resource }, account) => {
    const user: RequestUser =
      account === undefined
        ? request.user
        : {
            name: `system:serviceaccount:${account.namespace}:${account.name}`,
            groups: [...serviceAccountGroups(account.namespace), AUTHENTICATED],
          }
    const reason = authorizer.reasonOfUse(user, { verb, ...resource, ...(path === '' ? {} : { path }) })
    return { allowed: reason !== undefined, reason: reason ?? '' }
  }
  const { served, subresource, namespace, name } = request
  const { group, plural } = served.type
  return authorizerValue(may, { group, resource: plural, subresource, namespace, name, path: '' })
}
