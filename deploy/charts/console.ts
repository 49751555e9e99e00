// Behind a proxy, the console acts as the people whom the proxy names: as those of the settings, and as no others.
import { ApiObject, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { labelsOf } from './labels.ts'
import type { InstallSettings } from './settings.ts'
import { CONSOLE_ACCOUNT } from './system.ts'

const RBAC = 'rbac.authorization.k8s.io'

export class ConsoleChart extends Chart {
  constructor(scope: Construct, { console: page, version }: InstallSettings) {
    super(scope, 'console', { disableResourceNameHashes: true })
    const { proxy } = page ?? {}
    if (proxy === undefined) return
    const metadata = { name: 'kubenode:console-impersonates', labels: labelsOf('console', version) }
    const apiVersion = `${RBAC}/v1`
    // Without names a rule is for all: one without any is left out.
    const rule = (resource: string, resourceNames: readonly string[]) =>
      resourceNames.length === 0
        ? []
        : [{ apiGroups: [''], resources: [resource], verbs: ['impersonate'], resourceNames: [...resourceNames] }]
    new ApiObject(this, 'impersonates', {
      apiVersion,
      kind: 'ClusterRole',
      metadata,
      rules: [...rule('users', proxy.users), ...rule('groups', proxy.groups)],
    })
    new ApiObject(this, 'impersonates-binding', {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name: CONSOLE_ACCOUNT, namespace: SYSTEM_NAMESPACE }],
    })
  }
}
