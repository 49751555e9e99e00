// Waits until a server counts what a role gives: a real one learns of roles and bindings a moment after they were written, the embedded one at once.
import { eventually } from '#test/support/benches/sync-bench.ts'
import type { Requests } from './api-requests.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

interface GivenRule {
  readonly verbs?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

const first = (all: readonly string[] | undefined): string => all?.[0] ?? ''

/** The first right of each rule. */
export async function rulesInForce(
  api: Requests,
  user: string,
  rules: readonly GivenRule[],
  namespace = '',
): Promise<void> {
  for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of rules) {
    const [resource, subresource] = first(resources).split('/')
    const verb = first(verbs)
    const asked =
      nonResourceURLs === undefined
        ? {
            resourceAttributes: {
              verb,
              namespace,
              group: first(apiGroups),
              resource,
              subresource,
              name: first(resourceNames),
            },
          }
        : { nonResourceAttributes: { verb, path: first(nonResourceURLs) } }
    const isAllowed = async () => {
      const { body } = await api.post(REVIEWS, { spec: { user, ...asked } })
      return (body['status'] as { readonly allowed?: boolean } | undefined)?.allowed === true
    }
    await eventually(isAllowed, (allowed) => allowed)
  }
}
