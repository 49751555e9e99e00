// Metrics of the Defender: permits by verdict and gate, permits in flight, the room left in each budget, and the breakers.
import { Gauge, type Registry } from 'prom-client'
import { MAX_GRANTS, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { figuresIn } from '#runtime/figures.ts'
import { boundedLabel } from '#runtime/metrics.ts'
import { isPlace } from './blame/cohorts.ts'
import { builtinPolicy } from './compile-policy.ts'
import { isBuiltinInForce } from './gates.ts'
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
  const { counter, gauge } = figuresIn(registry)
  const label = boundedLabel()
  const verdictsHelp = 'Verdicts on permit targets, by deciding gate.'
  const verdicts = counter('kubenode_permit_verdicts_total', verdictsHelp, 'verdict', 'gate')
  let last: Observed | undefined
  const permits = new Gauge({
    name: 'kubenode_permits',
    help: 'Open permits by phase.',
    labelNames: ['phase'],
    registers: [registry],
    // Collecting the first gauge sets the others too: once per scrape, not many times a second.
    collect: () => {
      if (last !== undefined) show(last)
      last = undefined
    },
  })
  const slots = gauge('kubenode_ledger_slots', 'Slots taken in the ledger.', 'state')
  const room = gauge('kubenode_ledger_room', 'Free slots in the ledger.')
  const budget = gauge('kubenode_budget_left', 'Targets that a cluster-wide budget still permits.', 'policy', 'of')
  const booked = gauge('kubenode_ledger_reservations', 'Machines that count as away because of work on their hosts.')
  const over = gauge(
    'kubenode_budget_over',
    'Targets beyond a cluster-wide budget, such as by many events of hosts at once.',
    'policy',
    'of',
  )
  const breaker = gauge('kubenode_breaker_open', '0 closed, 1 half open, 2 open.', 'policy')
  const blamesHelp = 'Versions, configurations and kernels suspected of causing failures.'
  const blames = gauge('kubenode_blames', blamesHelp)
  const illHelp = 'Failing machines of a place whose machines fail together.'
  const ill = gauge('kubenode_place_failing', illHelp, 'kind', 'place')
  const alteredHelp = 'Admission policies and bindings that are missing or differ from the installed release.'
  const altered = gauge('kubenode_admission_policies_altered', alteredHelp, 'how')
  function show({ decision, ledger, snapshot }: Observed): void {
    for (const phase of ['Requested', 'Granted'])
      permits.set({ phase }, decision.permits.filter((p) => p.phase === phase).length)
    const grants = grantsOf(ledger)
    for (const state of ['Held', 'Orphaned']) slots.set({ state }, grants.filter((g) => g.state === state).length)
    room.set(MAX_GRANTS - grants.length)
    const reservations = ledger?.reservations ?? []
    const levels = Levels.booked(snapshot.fleet, grants, reservations)
    booked.set(ledger?.reservationCount ?? 0)
    budget.reset()
    over.reset()
    const enforced = snapshot.policies.filter((p) => p.spec.mode !== 'Audit')
    for (const policy of isBuiltinInForce(snapshot.policies) ? [builtinPolicy, ...enforced] : enforced)
      for (const { max, of, per } of policy.spec.budgets ?? []) {
        if (per !== 'cluster') continue
        const used = levels.set(policy, of, per, 'machines', '').size
        const left = budgetLimit(max, levels.total(policy, per, 'machines', '')) - used
        budget.set({ policy: label(policy.name), of }, Math.max(0, left))
        over.set({ policy: label(policy.name), of }, Math.max(0, -left))
      }
    for (const how of ['Missing', 'Changed'])
      altered.set({ how }, (ledger?.alteredPolicies ?? []).filter((a) => a.how === how).length)
    const blamed = ledger?.blames ?? []
    blames.set(blamed.filter((b) => !isPlace(b)).length)
    ill.reset()
    for (const { kind, value, failing } of blamed.filter(isPlace)) ill.set({ kind, place: label(value) }, failing)
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
