// The cluster that the benchmark of `kubenode simulate` runs on: machines in three zones, one set, a rule that reboots, a policy with a budget.
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { INVENTORY_FORM, type Inventory } from '#forecast/inventory.ts'
import { expectedObjects } from '#forecast/objects.ts'
import type { RunRequest } from '#forecast/simulation/run-once.ts'
import {
  START,
  component,
  componentSet,
  condition,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { policyOf, remedierOf } from '#test/support/worlds/past-lines.ts'

const OLD = '1.0.0'
const NEW = '1.1.0'
const RACK = 40
const STEPS = ['1%', '5%', '10%', '25%', '50%', '100%'] as const
/** Of the last switches: a drain of some minutes among them. */
const SECONDS = [45, 60, 75, 90, 120, 180, 300]

const RULE = remedierOf('stuck', 'KernelDeadlock', {
  for: '1m',
  ladder: [
    { operations: [{ cordon: {} }, { drain: {} }, { reboot: {} }], timeout: '30m', verify: { stableFor: '1m' } },
  ],
  limits: { perNodePerDay: 5, perHour: 1_000, perDay: 10_000, maxInFlight: '2%' },
})

/** `rollout`: the commit brings a new version of every component; `none`: it changes nothing. */
export function requestOf(
  count: number,
  components: number,
  commit: 'rollout' | 'none',
): Pick<RunRequest, 'objects' | 'changedSets' | 'rules' | 'begin'> {
  const names = Array.from({ length: components }, (_, n) => `component-${n}`)
  const at = (version: string) => Object.fromEntries(names.map((n) => [n, version]))
  const machines = Array.from({ length: count }, (_, n) => machineOf(n, at(OLD)))
  const setOf = (version: string) =>
    componentSet(at(version), { steps: STEPS, soak: '10m', maxUnavailable: '10%', progressDeadline: '30m' })
  const durations = names.map((name) => ({ component: name, seconds: SECONDS }))
  const inventory: Inventory = {
    form: INVENTORY_FORM,
    cluster: 'bench',
    takenAt: new Date(START).toISOString(),
    machines,
    nodes: machines.map((m) => readyNode(m.metadata.name ?? '')),
    machineSets: [],
    sets: [{ ...setOf(OLD), status: { durations } }],
    components: names.flatMap((name) => [component(name, OLD), component(name, NEW)]),
    revisions: [],
    permits: [],
    holds: [],
    approvals: [],
    policies: [policyOf('budget', { budgets: [{ max: '12%', of: 'unavailable' }], healthFloor: 0 })],
    fullBudgets: [],
  }
  const declared = (o: KubeObject) => applyDefaults(machineComponentSet.schema, o) as KubeObject
  const after = commit === 'rollout' ? setOf(NEW) : setOf(OLD)
  const { objects, changedSets } = expectedObjects(inventory, [declared(setOf(OLD))], [declared(after)])
  return { objects, changedSets, rules: [RULE], begin: START }
}

function machineOf(n: number, versions: Readonly<Record<string, string>>): Machine {
  const name = `machine-${String(n).padStart(5, '0')}`
  const made = workingMachine(name, { versions, zone: `zone-${n % 3}`, rack: `rack-${Math.floor(n / RACK)}` })
  const conditions = [...(made.status?.conditions ?? []), condition('Ready', 'True')]
  return { ...made, status: { ...made.status, conditions } }
}
