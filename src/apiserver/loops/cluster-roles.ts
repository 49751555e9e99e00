// Cluster roles with an aggregation rule: their rules are those of the roles that it selects.
import { isObject, jsonEqual } from '#lib/json.ts'
import { RBAC, rulesOf } from '../auth/authorizer.ts'
import type { ServerParts } from '../handlers/context.ts'
import { selectorMatcher } from '../selectors/label-selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { storeObject } from '../storage/internal-write.ts'

export async function aggregateRoles({ store }: ServerParts): Promise<void> {
  const roles = store.collection(`${RBAC}/clusterroles`).snapshot()
  for (const s of roles) {
    const rule = s.value['aggregationRule']
    if (!isObject(rule) || !Array.isArray(rule['clusterRoleSelectors'])) continue
    const matchers = rule['clusterRoleSelectors'].map((c) => selectorMatcher(c as LabelSelector))
    const chosen = roles.filter((r) => r.name !== s.name && matchers.some((m) => m(r.value.metadata.labels)))
    const rules = chosen.flatMap((r) => rulesOf(r.value))
    const unique = rules.filter((r, i) => !rules.slice(0, i).some((b) => jsonEqual(b, r)))
    await storeObject(store, s, (o) =>
      jsonEqual(rulesOf(o), unique) ? o : { ...o, rules: unique.length === 0 ? null : unique },
    )
  }
}
