// The scenario of reports to the vendor: nodes fail, one is not helped by the first rung, one fails again, and each incident is reported once. What
// the vendor was told is kept outside of the programs, as it would be, and its form may fail before or after it took a report.
import { machine as machineType } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { Provider } from '#providers/port.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { SimProcess } from '../process.ts'
import type { World } from '../world.ts'
import { type Modules, controllers, kinds } from './simulation.ts'
import { HEALS_AT, NODES, agents, defender, label, nodeName, plantNodes, setCondition } from './surroundings.ts'

/** Both rungs report: a report on the first is not repeated on the second. */
const operations = [
  { cordon: {} },
  { reportFault: { category: 'Hang' } },
  { restartComponent: { component: 'beacon' } },
]
const rung = { operations, timeout: '2m', verify: { conditionCleared: 'KernelDeadlock', stableFor: '5s' } }
const RULE = {
  when: { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] },
  for: '2s',
  ladder: [rung, rung],
  cooldown: '5s',
  relapseWindow: '10s',
  limits: { perNodePerDay: 12, perHour: 24, perDay: 40, maxInFlight: 2 },
}

const idOf = (name: string): string => `sim://${name}`

interface Vendor {
  /** providerID of each report that it took. */
  readonly told: string[]
  /** Reports that it takes, and whose answer is lost. */
  unanswered: number
}

const vendorProvider = ({ clock }: SimProcess, vendor: Vendor): Provider =>
  overridden(new MemoryProvider({ clock, name: 'sim' }), {
    reportFault: async (providerID) => {
      vendor.told.push(providerID)
      if (vendor.unanswered > 0) {
        vendor.unanswered--
        throw new Error('the connection ended')
      }
      return 'Ordered'
    },
  })

function plant(world: World): void {
  plantNodes(world)
  for (let n = 0; n < NODES; n++) {
    const name = nodeName(n)
    world.fake.poke(machineType, { name }, { spec: { provider: { name: 'sim' }, providerID: idOf(name) } })
  }
  const metadata = { name: 'deadlock' }
  world.fake.plant(nodeRemedier, { apiVersion: 'kubenode.io/v1alpha1', kind: 'NodeRemedier', metadata, spec: RULE })
}

const fails = (world: World, n: number): void => setCondition(world, n, 'KernelDeadlock', 'True')

const phasesOf = (vendor: Vendor): readonly Phase[] => [
  { name: 'a rule, and nodes that are well', act: plant },
  { name: 'one node fails', act: (world) => fails(world, 1) },
  {
    name: 'one is not helped by the first rung',
    act: (world) => {
      label(world, 2, HEALS_AT, '1')
      fails(world, 2)
    },
  },
  {
    name: 'the answer of the vendor is lost',
    act: (world) => {
      vendor.unanswered = 1
      fails(world, 3)
    },
  },
  { name: 'the first one fails again', act: (world) => fails(world, 1) },
]

const jobsIn = (world: World) => world.fake.all(remedyOperationJob) as readonly RemedyOperationJob[]

/** Each incident has its report, and never a second one, whatever rungs, restarts and lost answers there are. */
const toldOnce =
  (vendor: Vendor): Invariant =>
  (_, world) => {
    for (const [id, reports] of Map.groupBy(vendor.told, (told) => told)) {
      const incidents = new Set(
        jobsIn(world)
          .filter((j) => idOf(j.spec.node.name) === id)
          .map((j) => j.spec.incident),
      )
      if (reports.length > incidents.size)
        return `${id} is reported ${reports.length} times for ${incidents.size} incidents`
    }
    return undefined
  }

export interface FaultReports extends Simulation {
  readonly vendor: Vendor
}

/** `phases`: how many of the story. */
export function faultReportSimulation(
  modules: () => Partial<Modules> = () => ({}),
  phases: number = Infinity,
): FaultReports {
  const vendor: Vendor = { told: [], unanswered: 0 }
  return {
    vendor,
    kinds,
    actors: () => {
      vendor.told.splice(0)
      vendor.unanswered = 0
      const parts: Modules = { remedy: remedyModule, job: remedyJobModule, ...modules() }
      return [controllers(parts, 'controllers', (p) => ({ sim: vendorProvider(p, vendor) })), defender, agents]
    },
    phases: phasesOf(vendor).slice(0, phases),
    invariants: { toldOnce: toldOnce(vendor) },
    // A restart at the wrong moment may cost the report, and never the repair: it heals on the same rung.
    state: (world) => ({
      bad: (world.fake.all(nodeType) as readonly Node[])
        .filter((n) => n.status?.conditions?.some((c) => c.type === 'KernelDeadlock' && c.status === 'True'))
        .map((n) => n.metadata.name),
      jobs: jobsIn(world)
        .map((j) => `${j.spec.node.name} rung ${j.spec.rung} ${j.status?.outcome ?? j.status?.phase}`)
        .toSorted(),
    }),
    counted: [],
    settleMs: 150_000,
    restMs: 60_000,
  }
}
