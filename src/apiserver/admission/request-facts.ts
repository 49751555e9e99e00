// What expressions see as `request`: the admission request without its objects.
import { apiVersionOf } from '#schema/resource.ts'
import type { AdmissionRequest } from './chain.ts'

export function requestFacts(request: AdmissionRequest): unknown {
  const { served, subresource, name, namespace, operation, user, dryRun, options } = request
  const { group, version, kind, plural } = served.type
  const ofKind = { group, version, kind }
  const ofResource = { group, version, resource: plural }
  return {
    kind: ofKind,
    resource: ofResource,
    subResource: subresource,
    requestKind: ofKind,
    requestResource: ofResource,
    requestSubResource: subresource,
    name,
    namespace,
    operation,
    userInfo: { username: user.name, uid: user.uid ?? '', groups: user.groups, extra: user.extra ?? {} },
    dryRun,
    options: options ?? { apiVersion: apiVersionOf({ group: 'meta.k8s.io', version: 'v1' }) },
  }
}
