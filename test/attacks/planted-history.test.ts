// The attacker may write into the namespace where sets remember which versions were healthy, and plants a memory: a way back to it would pass rates and steps.
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { revisionNameOf, writeSetRevision } from '#api/protocol/set-revision.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'

const RBAC = 'rbac.authorization.k8s.io'
const revisionsIn = (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/controllerrevisions`
const REVISIONS = revisionsIn(SYSTEM_NAMESPACE)
const COMPONENTS = [{ name: 'beacon', version: '6.6.6' }]
const healthy = JSON.stringify({ beacon: { version: '6.6.6', digest: 'a'.repeat(64), at: '2026-01-01T00:00:00Z' } })

const revision = (name: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name,
    annotations: { [ANNOTATIONS.completed]: healthy },
    ownerReferences: [
      { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineComponentSet', name: 'base', uid: 'of-the-set' },
    ],
    ...more,
  },
  ...writeSetRevision(1, COMPONENTS),
})
const NAME = revisionNameOf('base', COMPONENTS)
const marks = { metadata: { annotations: { [ANNOTATIONS.completed]: healthy } } }

/** A user with the role `admin` or `edit` in KubeNode's namespace. */
const INSIDE: Who = { user: 'inside', groups: ['system:authenticated'] }
async function letInside({ admin }: AttackWorld): Promise<void> {
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name: 'inside', namespace: SYSTEM_NAMESPACE }]
  const at = `/apis/${apiVersion}/namespaces/${SYSTEM_NAMESPACE}`
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  await admin.raw({ method: 'POST', path: `${at}/roles`, body: { apiVersion, kind: 'Role', metadata, rules } })
  const subjects = [{ kind: 'User', name: INSIDE.user, apiGroup: RBAC }]
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: 'inside' }
  await admin.raw({
    method: 'POST',
    path: `${at}/rolebindings`,
    body: { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef },
  })
}
const asks =
  (who: (world: AttackWorld) => Who, method: string, path: string, body?: object) =>
  async (world: AttackWorld): Promise<Answer> => {
    await letInside(world)
    // As the controllers keep it, for the attempts that change it; without its owner, since the set is not there and its revisions would be collected.
    await world.ask(world.who.controllers, 'POST', REVISIONS, { body: revision(NAME, { ownerReferences: [] }) })
    return world.ask(who(world), method, path, body === undefined ? {} : { body })
  }
const inside = (method: string, path: string, body?: object) => asks(() => INSIDE, method, path, body)
const controllers = (method: string, path: string, body?: object) =>
  asks(({ who }) => who.controllers, method, path, body)

const REFUSED = /only the controllers write them/
const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 the administrator of our namespace plants a version that was healthy on a set',
    attempt: inside('POST', REVISIONS, revision('base-planted')),
    control: controllers('POST', `${REVISIONS}?dryRun=All`, revision('base-planted')),
    refused: REFUSED,
  },
  {
    name: 'S25 the administrator of our namespace plants a record that the set would adopt',
    attempt: inside('POST', REVISIONS, revision('base-planted', { ownerReferences: [] })),
    control: inside('POST', `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps?dryRun=All`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs' },
    }),
    refused: REFUSED,
  },
  {
    name: 'S25 the administrator of our namespace plants the last good rule of a remedier',
    attempt: inside('POST', REVISIONS, {
      ...revision('rule-mend-planted', { annotations: { 'kubenode.io/remedier': 'mend' } }),
      data: { spec: { when: { all: [] } } },
    }),
    refused: REFUSED,
  },
  {
    name: 'S25 the administrator of our namespace says that a version was healthy',
    attempt: inside('PATCH', `${REVISIONS}/${NAME}`, marks),
    control: controllers('PUT', `${REVISIONS}/${NAME}?dryRun=All`, revision(NAME)),
    refused: REFUSED,
  },
  {
    name: 'S25 the administrator of our namespace has a set forget what failed',
    attempt: inside('DELETE', `${REVISIONS}/${NAME}`),
    control: controllers('DELETE', `${REVISIONS}/${NAME}?dryRun=All`),
    refused: REFUSED,
  },
  ...(['sync', 'defender', 'approver', 'agentA'] as const).map((thief): Attempt => ({
    name: `S25 the key of ${thief} plants a version that was healthy on a set`,
    attempt: asks(({ who }) => who[thief], 'POST', REVISIONS, revision('base-planted')),
    refused: 403,
  })),
  {
    name: 'S25 a tenant plants it in a namespace of their own, where no set looks',
    attempt: asks(({ who }) => who.tenant, 'POST', REVISIONS, revision('base-planted')),
    control: asks(({ who }) => who.tenant, 'POST', revisionsIn('shop'), revision('base-planted')),
    refused: 403,
  },
]

tryOnServers('who may write where sets remember', ATTEMPTS)
