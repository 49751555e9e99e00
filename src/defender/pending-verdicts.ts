// Keeps the gates' verdicts of a grant whose status write failed. The next cycle finds the grant in the ledger, which has no texts, but the permit
// must show them.
import { uidOf } from '#api/schema/object-meta.ts'
import type { PermitDecision } from './plan.ts'
import type { TargetDecision } from './target-decision.ts'

export class PendingVerdicts {
  readonly #gates = new Map<string, ReadonlyMap<string, TargetDecision['gates']>>()

  note({ permit, targets }: PermitDecision): void {
    const spoken = targets.filter((t) => t.verdict.verdict === 'Granted' && t.gates.length > 0)
    if (spoken.length > 0) this.#gates.set(uidOf(permit), new Map(spoken.map((t) => [t.target, t.gates])))
  }

  /** The decision with its verdict texts restored. */
  complete(decision: PermitDecision): PermitDecision {
    const known = this.#gates.get(uidOf(decision.permit))
    if (known === undefined) return decision
    const targets = decision.targets.map((t) => ({
      ...t,
      gates: t.gates.length > 0 || t.verdict.verdict !== 'Granted' ? t.gates : (known.get(t.target) ?? []),
    }))
    return { ...decision, targets }
  }

  forget(uid: string): void {
    this.#gates.delete(uid)
  }
}
