// What expressions see as `request`: the admission request without its objects.
import { apiVersionOf } from '#schema/resource.ts'
import type { Served } from '../registry/served.ts'
import type { AdmissionRequest } from './chain.ts'

export function requestFacts(request: AdmissionRequest): unknown {
  const { served, sentAs = served, subresource, name, namespace, operation, user, dryRun, options } = request
  const kindOf = ({ type: { group, version, kind } }: Served) => ({ group, version, kind })
  const resourceOf = ({ type: { group, version, plural } }: Served) => ({ group, version, resource: plural })
  return {
    kind: request.kind ?? kindOf(served),
    resource: resourceOf(served),
    subResource: subresource,
    requestKind: request.kind ?? kindOf(sentAs),
    requestResource: resourceOf(sentAs),
    requestSubResource: subresource,
    name,
    namespace,
    operation,
    userInfo: { username: user.name, uid: user.uid ?? '', groups: user.groups, extra: user.extra ?? {} },
    dryRun,
    options: options ?? { apiVersion: apiVersionOf({ group: 'meta.k8s.io', version: 'v1' }) },
  }
}
