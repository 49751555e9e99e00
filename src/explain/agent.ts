// Whether a machine's agent can be queried, or why not. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'

type Agent = { readonly isThere: true; readonly publicKey: string } | { readonly isThere: false; readonly why: string }

export function agentOf({ spec, status }: Machine): Agent {
  const { publicKey, phase } = status?.agent ?? {}
  const absent = (why: string): Agent => ({ isThere: false, why })
  if (publicKey === undefined)
    return absent(spec.channel === 'Observe' ? 'it is only observed and has no agent' : 'no agent has joined yet')
  if (phase !== undefined) return absent('its agent is leaving the host')
  const reachable = findCondition(status?.conditions, 'AgentReachable')
  if (reachable?.status === 'False') return absent(`no heartbeat from its agent since ${reachable.lastTransitionTime}`)
  return { isThere: true, publicKey }
}
