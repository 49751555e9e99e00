// The agent configuration that a commit declares for a cluster: refused if an agent would ignore any part of it. Pure.
import { AGENT_CONFIG_KEY, agentConfigText, isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import { type AgentConfigProblem, agentConfigProblems } from '#api/agent-config/config-problems.ts'
import { HOST_CONFIG_NAME } from '#api/agent-config/git-limits.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain } from './problem.ts'

export function agentConfigMapProblems(object: KubeObject): readonly DeclaredProblem[] {
  if (!isAgentConfigMap(object)) return []
  const pointer = `/data/${AGENT_CONFIG_KEY}`
  const text = agentConfigText(object)
  if (text.kind === 'Unusable') return [certain({ object, pointer }, declaredErrors.KN3072({ why: text.why }))]
  return agentConfigProblems(text.text).map((problem) =>
    certain({ object, pointer, words: problem.words }, agentConfigError(problem)),
  )
}

export const agentConfigError = ({ kind, why }: Pick<AgentConfigProblem, 'kind' | 'why'>) =>
  kind === 'Mistake' ? declaredErrors.KN3072({ why }) : declaredErrors.KN3074({ why, hostFile: HOST_CONFIG_NAME })

/** The usable texts among the objects: at most one. */
export const agentConfigIn = (objects: readonly KubeObject[]): readonly string[] =>
  objects.filter(isAgentConfigMap).flatMap((object) => {
    const text = agentConfigText(object)
    return text.kind === 'Text' ? [text.text] : []
  })
