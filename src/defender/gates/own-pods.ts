// Machines that host replicas of the same KubeNode program are disrupted one after another: a rollout must not stop the programs that could stop it.
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { wait } from '../verdict-of.ts'
import { isOutOfService } from '../unit.ts'

/** The other operation ends with its result or its lease. */
const RETRY_MS = 15_000

export function ownPodsGate({ unit }: Question, { snapshot, ledger }: GateContext): readonly GateVerdict[] {
  const { hosts, fleet } = snapshot
  const roles = hosts.get(unit.nodeName ?? '')
  // A machine that does not serve gets no worse, and its repair may bring a replica back.
  if (roles === undefined || isOutOfService(unit)) return []
  for (const grant of ledger.grants()) {
    if (grant.exempt === 'NoDisruption') continue
    const found = fleet.find({ ...grant, uid: grant.target })
    if (found.kind !== 'Found' || found.unit.id === unit.id) continue
    const shared = [...(hosts.get(found.unit.nodeName ?? '') ?? [])].find((role) => roles.has(role))
    if (shared === undefined) continue
    return [
      wait('OwnPods', {
        reason: 'WaitingForOther',
        seen: `${unit.name} and ${found.unit.name} both run kubenode-${shared}, and ${found.unit.name} is being disrupted`,
        limit: 'one machine of a KubeNode program at a time',
        retryAfterMs: RETRY_MS,
      }),
    ]
  }
  return []
}
