// What expressions see as `request`: the admission request without its objects. Empty fields are left out, so an expression that names one plainly fails.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Served } from '../registry/served.ts'
import type { AdmissionRequest } from './chain.ts'

export function requestFacts(request: AdmissionRequest): unknown {
  const { served, sentAs = served, subresource, name, namespace, operation, user, dryRun, options } = request
  const kindOf = ({ type: { group, version, kind } }: Served) => ({ group, version, kind })
  const resourceOf = ({ type: { group, version, plural } }: Served) => ({ group, version, resource: plural })
  return {
    kind: request.kind ?? kindOf(served),
    resource: resourceOf(served),
    ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
    requestKind: request.kind ?? kindOf(sentAs),
    requestResource: resourceOf(sentAs),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid !== undefined && user.uid !== '' && { uid: user.uid }),
      groups: user.groups,
      ...(user.extra !== undefined && Object.keys(user.extra).length > 0 && { extra: user.extra }),
    },
    dryRun,
    options: options ?? { apiVersion: apiVersionOf({ group: 'meta.k8s.io', version: 'v1' }) },
  }
}
