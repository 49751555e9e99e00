// What the Defender tells its watchers: permits by verdict and gate, what is in flight, how much of each budget is left, and the breakers.
import { Counter, Gauge, type Registry } from 'prom-client'
import { MAX_GRANTS, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { boundedLabel } from '#runtime/metrics.ts'
import { builtinPolicy } from './compile-policy.ts'
import { grantsOf } from './ledger.ts'
import { Levels, budgetLimit } from './levels.ts'
import type { Decision, PermitDecision } from './plan.ts'
import type { Snapshot } from './snapshot.ts'

export interface DefenderMetrics {
  decided(decision: PermitDecision): void
  observe(decision: Decision, ledger: LedgerSpec | undefined, snapshot: Snapshot): void
}

interface Observed {
  readonly decision: Decision
  readonly ledger: LedgerSpec | undefined
  readonly snapshot: Snapshot
}

const BREAKER_STATES = ['Closed', 'HalfOpen', 'Open'] as const

export function createDefenderMetrics(registry: Registry): DefenderMetrics {
  const registers = [registry]
  const label = boundedLabel()
  const verdicts = new Counter({
    name: 'kubenode_permit_verdicts_total',
    help: 'Verdicts on permit targets, by deciding gate.',
    labelNames: ['verdict', 'gate'],
    registers,
  })
  let last: Observed | undefined
  const permits = new Gauge({
    name: 'kubenode_permits',
    help: 'Open permits by phase.',
    labelNames: ['phase'],
    registers,
    // Collecting the first gauge sets the others too: once per scrape, not many times a second.
    collect: () => {
      if (last !== undefined) show(last)
      last = undefined
    },
  })
  const slots = new Gauge({
    name: 'kubenode_ledger_slots',
    help: 'Slots taken in the ledger.',
    labelNames: ['state'],
    registers,
  })
  const room = new Gauge({ name: 'kubenode_ledger_room', help: 'Free slots in the ledger.', registers })
  const budget = new Gauge({
    name: 'kubenode_budget_left',
    help: 'Targets that a cluster-wide budget still permits.',
    labelNames: ['policy', 'of'],
    registers,
  })
  const breaker = new Gauge({
    name: 'kubenode_breaker_open',
    help: '0 closed, 1 half open, 2 open.',
    labelNames: ['policy'],
    registers,
  })
  const blames = new Gauge({
    name: 'kubenode_blames',
    help: 'Versions, configurations, kernels, racks and zones suspected of causing failures.',
    registers,
  })
  function show({ decision, ledger, snapshot }: Observed): void {
    for (const phase of ['Requested', 'Granted'])
      permits.set({ phase }, decision.permits.filter((p) => p.phase === phase).length)
    const grants = grantsOf(ledger)
    for (const state of ['Held', 'Orphaned']) slots.set({ state }, grants.filter((g) => g.state === state).length)
    room.set(MAX_GRANTS - grants.length)
    const levels = new Levels(snapshot.fleet, grants)
    budget.reset()
    const enforced = snapshot.policies.filter((p) => p.spec.mode !== 'Audit')
    for (const policy of enforced.length > 0 ? enforced : [builtinPolicy])
      for (const { max, of, per } of policy.spec.budgets ?? []) {
        if (per !== 'cluster') continue
        const used = levels.set(policy, of, per, 'machines', '').size
        const left = budgetLimit(max, levels.total(policy, per, 'machines', '')) - used
        budget.set({ policy: label(policy.name), of }, Math.max(0, left))
      }
    blames.set(ledger?.blames?.length ?? 0)
    breaker.reset()
    for (const { policy, state } of ledger?.breakers ?? [])
      breaker.set({ policy: label(policy) }, BREAKER_STATES.indexOf(state))
  }
  return {
    decided: ({ targets }) => {
      for (const { verdict } of targets) verdicts.inc({ verdict: verdict.verdict, gate: verdict.gate })
    },
    observe: (decision, ledger, snapshot) => {
      last = { decision, ledger, snapshot }
    },
  }
}
