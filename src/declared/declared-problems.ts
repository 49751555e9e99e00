// What cannot work, or is probably a mistake, in all the objects declared for one cluster. Pure; contacts no cluster.
import { acceptancePodProblems } from './acceptance-pods.ts'
import { conditionsOfComponents, conditionsReportedBy } from '#api/agent-config/config-problems.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { kindNamed } from '#api/kinds.ts'
import type { SignedTrust } from '#api/trust/trust-document.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { agentConfigIn, agentConfigMapProblems } from './agent-config.ts'
import { askedProblems } from './asked.ts'
import { componentProblems } from './components.ts'
import { followedProblems } from './followed.ts'
import { listingProblems } from './listing-problems.ts'
import { type DeclaredProblem, isComponent } from './problem.ts'
import { providerProblems } from './providers.ts'
import { kernelProblems } from './kernels.ts'
import { rebootProblems } from './reboots.ts'
import { rescueProblems } from './rescues.ts'
import { ruleProblems } from './rules.ts'
import { selectorProblems } from './selectors.ts'
import { trustProblems } from './trust.ts'
import { unsetConditionProblems } from './unset-conditions.ts'

export interface DeclaredContext {
  /** The newest trust document next to the objects. */
  readonly trust?: SignedTrust | undefined
  /** Texts of agent.json next to the objects: the conditions that they report are known. Those among the objects need not be passed. */
  readonly agentConfigs?: readonly string[]
  /** The providers that the controllers serve; absent when unknown. */
  readonly providers?: ReadonlySet<string> | undefined
}

/** Objects of KubeNode kinds must match their schema. Other objects are not checked, except the agent configuration. */
export function declaredProblems(
  all: readonly KubeObject[],
  { trust, agentConfigs = [], providers }: DeclaredContext = {},
): readonly DeclaredProblem[] {
  const given = new Map<KubeObject, KubeObject>()
  for (const o of all) {
    const kind = o.apiVersion === API_GROUP_VERSION ? kindNamed(o.kind) : undefined
    if (kind !== undefined) given.set(applyDefaults(kind.schema, o) as KubeObject, o)
  }
  const ours = [...given.keys()]
  const reported = new Set([
    ...[...agentConfigs, ...agentConfigIn(all)].flatMap((text) => [...conditionsReportedBy(text)]),
    ...conditionsOfComponents(ours.filter(isComponent)),
  ])
  const problems = [
    ...all.flatMap(agentConfigMapProblems),
    ...all.flatMap(listingProblems),
    ...all.flatMap(followedProblems),
    ...componentProblems(ours),
    ...acceptancePodProblems(ours, all),
    ...ruleProblems(ours, reported),
    ...unsetConditionProblems({ ours, all, agentConfigs, reported }),
    ...providerProblems(ours, providers),
    ...rebootProblems(ours),
    ...kernelProblems(ours),
    ...rescueProblems(ours),
    ...selectorProblems(ours),
    ...askedProblems(ours),
    ...(trust === undefined ? [] : trustProblems(ours, trust.document)),
  ]
  return problems.map((p) => ({ ...p, object: given.get(p.object) ?? p.object }))
}
