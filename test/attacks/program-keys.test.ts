// The attacker has the key of one of our programs: what it cannot read, write and become. docs/security.md has the table.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Attempt, type AttackWorld, type Identities, tryOnServers } from '#test/support/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const inSystem = (resource: string) => `/api/v1/namespaces/${SYSTEM_NAMESPACE}/${resource}`

const by =
  (thief: keyof Identities, method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who[thief], method, path, body === undefined ? {} : { body })

const ledger = { apiVersion: 'kubenode.io/v1alpha1', kind: 'DefenderLedger', metadata: { name: 'cluster' } }

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 the key of controllers writes the ledger',
    attempt: by('controllers', 'POST', `${OURS}/defenderledgers`, { ...ledger, spec: { sequence: 1 } }),
    control: by('defender', 'POST', `${OURS}/defenderledgers?dryRun=All`, { ...ledger, spec: { sequence: 1 } }),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers lists Secrets of our namespace',
    attempt: by('controllers', 'GET', inSystem('secrets')),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers approves what it waits for',
    attempt: by('controllers', 'POST', `${OURS}/approvals`, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Approval',
      metadata: { name: 'mine' },
      spec: { digest: 'a'.repeat(64), by: 'kubenode:controllers' },
    }),
    refused: 403,
  },
  {
    name: 'S25 the key of the Defender deletes a Machine',
    attempt: by('defender', 'DELETE', `${OURS}/machines/m-a`),
    refused: 403,
  },
  {
    name: 'S25 the key of the Defender reads Secrets of others',
    attempt: by('defender', 'GET', '/api/v1/namespaces/shop/secrets'),
    refused: 403,
  },
  {
    name: 'S25 the key of sync gives itself a role',
    attempt: by('sync', 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'mine' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'kubenode:sync', apiGroup: 'rbac.authorization.k8s.io' }],
    }),
    refused: 403,
  },
  {
    name: 'S25 the key of sync removes the policies that hold others',
    attempt: by(
      'sync',
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/kubenode-defender',
    ),
    refused: 403,
  },
  {
    name: 'S25 the key of sync grants a permit',
    attempt: by('sync', 'PATCH', `${OURS}/operationpermits/any/status`, { status: { phase: 'Granted' } }),
    refused: 403,
  },
]

tryOnServers('the key of a program', ATTEMPTS)
