// Checks at the server whether this identity may do something. The answer covers whatever authorizes there: roles, webhooks, the node authorizer.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from './client.ts'

export interface AccessQuestion {
  readonly verb: string
  readonly group: string
  /** With its subresource: `machines/status`. */
  readonly resource: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

const reviewType: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
}

/** Undefined if the server's answer has no verdict. */
export async function isAllowed(
  client: Pick<KubeClient, 'create'>,
  { verb, group, resource: path, namespace, name }: AccessQuestion,
  signal?: AbortSignal,
): Promise<boolean | undefined> {
  const [resource = '', subresource] = path.split('/', 2)
  const resourceAttributes = {
    verb,
    group,
    resource,
    ...defined({ subresource, namespace, name }),
  }
  const review = {
    apiVersion: `${reviewType.group}/${reviewType.version}`,
    kind: reviewType.kind,
    metadata: {},
    spec: { resourceAttributes },
  } as KubeObject
  const { status } = await client.create(reviewType, review, signal === undefined ? {} : { signal })
  const allowed = isObject(status) ? status['allowed'] : undefined
  return typeof allowed === 'boolean' ? allowed : undefined
}
