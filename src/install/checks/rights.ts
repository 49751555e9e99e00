// Checks by SelfSubjectAccessReview whether this user may do everything that an installation does: without all rights, half would be installed.
import { API_GROUP } from '#api/kind.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

export interface Ask {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
}

const PARALLEL = 8
/** Apply needs both create and patch; the others are for a later version and for uninstall. */
const VERBS = ['get', 'list', 'create', 'patch', 'delete'] as const

/** Creating roles requires all of their rights, or these. */
const GRANTING: readonly Ask[] = ['clusterroles', 'roles'].flatMap((resource) =>
  ['escalate', 'bind'].map((verb) => ({ verb, group: 'rbac.authorization.k8s.io', resource })),
)

const asksFor = (types: readonly ResourceType[]): readonly Ask[] => [
  ...types.flatMap(({ group, plural }) => VERBS.map((verb) => ({ verb, group, resource: plural }))),
  ...GRANTING,
  { verb: 'install', group: API_GROUP, resource: 'programs' },
  { verb: 'create', group: API_GROUP, resource: 'inventories' },
  { verb: 'get', group: '', resource: 'pods' },
  // For a run's turn.
  ...['get', 'create', 'update'].map((verb) => ({ verb, group: 'coordination.k8s.io', resource: 'leases' })),
]

export const askText = ({ verb, group, resource, subresource }: Ask): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`

export async function may(
  client: KubeClient,
  { verb, group, resource, subresource, namespace }: Ask,
): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        verb,
        group,
        resource,
        ...defined({ subresource, namespace }),
      },
    },
  }
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const { status, text } = await client.raw({ method: 'POST', path, body })
  if (status >= 300) throw new Error(`SelfSubjectAccessReview: HTTP ${status}`)
  const answer: unknown = JSON.parse(text)
  return isObject(answer) && isObject(answer['status']) && answer['status']['allowed'] === true
}

/** One request for an administrator, about seventy for other users. */
export async function missingRights(client: KubeClient, types: readonly ResourceType[]): Promise<readonly string[]> {
  if (await may(client, { verb: '*', group: '*', resource: '*' })) return []
  const missing = new Set<string>()
  await inParallel(asksFor(types), PARALLEL, async (ask) => {
    if (!(await may(client, ask))) missing.add(askText(ask))
  })
  return [...missing].toSorted()
}

/** The distinct resource types of these objects. */
export const distinctKinds = (objects: readonly KubeObject[]): readonly KubeObject[] => [
  ...new Map(objects.map((o) => [`${o.apiVersion} ${o.kind}`, o])).values(),
]
