// The identity type of agents that join through a release's approver, read from its arguments. Pure.
import { AGENT_IDENTITIES, type AgentIdentity } from '#identity/token-life.ts'
import { fieldAt } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** Undefined if the release has no approver. */
export function agentIdentityIn(objects: readonly KubeObject[]): AgentIdentity | undefined {
  const approver = objects.find((o) => o.kind === 'Deployment' && o.metadata.name === 'kubenode-approver')
  if (approver === undefined) return undefined
  const containers: unknown = fieldAt(fieldAt(fieldAt(approver['spec'], 'template'), 'spec'), 'containers')
  const args = Array.isArray(containers) ? containers.flatMap((c): unknown => fieldAt(c, 'args') ?? []) : []
  const asked: unknown = args[args.indexOf('--agent-identity') + 1]
  return args.includes('--agent-identity')
    ? (AGENT_IDENTITIES.find((i) => i === asked) ?? 'certificate')
    : 'certificate'
}
