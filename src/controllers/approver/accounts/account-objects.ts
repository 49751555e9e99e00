// The objects that make an agent a service account: the account, and the Role that shows admission policies its Machine and Node. Pure.
import { API_GROUP, API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { AGENTS_NAMESPACE, AGENT_VERB, ANNOTATIONS, agentAccountName } from '#api/names.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import type { KubeObject } from '#api/schema/object.ts'

const RBAC = 'rbac.authorization.k8s.io'
const PREFIX = agentAccountName('')

/** Undefined for other accounts, such as the default account of a namespace. */
export const uidOfAccount = (name: string): string | undefined =>
  name.startsWith(PREFIX) && name.length > PREFIX.length ? name.slice(PREFIX.length) : undefined

const metadataOf = (machine: Machine, more: Readonly<Record<string, string>> = {}) => {
  const { name = '', uid = '' } = machine.metadata
  return {
    name: agentAccountName(uid),
    namespace: AGENTS_NAMESPACE,
    annotations: {
      [ANNOTATIONS.machine]: name,
      [ANNOTATIONS.machineUid]: uid,
      [ANNOTATIONS.agentKey]: recordedKey(machine) ?? '',
      ...more,
    },
    ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: machineType.kind, name, uid }],
  }
}

/** The account is first in the list but created last, so that no token works before the other objects exist. */
export function accountObjects(machine: Machine): readonly [KubeObject, KubeObject, KubeObject] {
  const metadata = metadataOf(machine)
  const { name } = metadata
  const rule = (group: string, resource: string, of: string) => ({
    apiGroups: [group],
    resources: [resource],
    resourceNames: [of],
    verbs: [AGENT_VERB],
  })
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata,
      rules: [rule(API_GROUP, machineType.plural, machine.metadata.name ?? ''), rule('', 'nodes', nodeNameOf(machine))],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: AGENTS_NAMESPACE }],
    },
  ]
}

export const sealedTokenObject = (
  machine: Machine,
  data: Readonly<Record<string, string>>,
  issued: string,
): KubeObject & { readonly data: Readonly<Record<string, string>> } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadataOf(machine, { [ANNOTATIONS.tokenIssued]: issued }),
  data,
})
