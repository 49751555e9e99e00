// The table of roles as objects: a role and its binding for each entry.
import { ApiObject, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { ROLES, type RoleEntry, type Subject } from './roles.ts'

const RBAC = 'rbac.authorization.k8s.io'

const subjectOf = (s: Subject): object =>
  s.kind === 'ServiceAccount' ? { ...s, namespace: SYSTEM_NAMESPACE } : { ...s, apiGroup: RBAC }

export class RbacChart extends Chart {
  constructor(scope: Construct, onHub: boolean) {
    super(scope, onHub ? 'rbac-hub' : 'rbac')
    for (const entry of ROLES) if ((entry.onHub === true) === onHub) this.#add(entry)
  }

  #add({ name, namespace, subjects, rules: ofResources, paths }: RoleEntry): void {
    const rules = [...ofResources, ...(paths === undefined ? [] : [{ nonResourceURLs: paths, verbs: ['get'] }])]
    const kind = namespace === undefined ? 'ClusterRole' : 'Role'
    const id = `${kind}-${name}-${namespace ?? ''}`.replaceAll(':', '-')
    const metadata = { name, ...(namespace !== undefined && { namespace }) }
    const apiVersion = `${RBAC}/v1`
    new ApiObject(this, id, { apiVersion, kind, metadata, rules })
    if (subjects.length === 0) return
    new ApiObject(this, `${id}-binding`, {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: subjects.map(subjectOf),
    })
  }
}
