// What cannot hold, or is probably a mistake, in all the objects that are declared for one cluster. Pure; asks no cluster.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { kindNamed } from '#api/kinds.ts'
import type { SignedTrust } from '#api/trust/trust-document.ts'
import { applyDefaults } from '#schema/default.ts'
import type { KubeObject } from '#schema/object.ts'
import { componentProblems } from './components.ts'
import type { DeclaredProblem } from './problem.ts'
import { ruleProblems } from './rules.ts'
import { selectorProblems } from './selectors.ts'
import { trustProblems } from './trust.ts'

export interface DeclaredContext {
  /** The newest trust document that lies beside the objects. */
  readonly trust?: SignedTrust | undefined
}

/** Objects of our kinds must be valid for their schema; others are left alone. */
export function declaredProblems(
  all: readonly KubeObject[],
  { trust }: DeclaredContext = {},
): readonly DeclaredProblem[] {
  const given = new Map<KubeObject, KubeObject>()
  for (const o of all) {
    const kind = o.apiVersion === API_GROUP_VERSION ? kindNamed(o.kind) : undefined
    if (kind !== undefined) given.set(applyDefaults(kind.schema, o) as KubeObject, o)
  }
  const ours = [...given.keys()]
  const problems = [
    ...componentProblems(ours),
    ...ruleProblems(ours),
    ...selectorProblems(ours),
    ...(trust === undefined ? [] : trustProblems(ours, trust.document)),
  ]
  return problems.map((p) => ({ ...p, object: given.get(p.object) ?? p.object }))
}
