// The page that shows how many machines of a small fleet may be worked on at once: the Defender itself decides about fleets of one to ten.
import { code, join, table } from '#api/gen/markdown.ts'
import { type DefenderPolicy, type DefenderPolicyInput, defenderPolicy } from '#api/kinds/defender-policy.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type Disruption, DISRUPTIONS, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { timestamp } from '#lib/clock.ts'
import { builtinPolicy, type CompiledPolicy, compilePolicy } from '#defender/compile-policy.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { fleetView } from '#defender/fleet.ts'
import { floorLimit } from '#defender/levels.ts'
import { decide } from '#defender/plan.ts'

export const ROOM_PAGE = 'docs/reference/small-fleets.md'

const SIZES = Array.from({ length: 10 }, (_, n) => n + 1)
const FLOORS = ['50%', '80%', '90%', '99%', '100%', 1, 3] as const
/** Any moment: no window or rate plays a part. */
const NOW = Date.parse('2026-01-05T00:00:00Z')

/** Operations on Clusters, or on the objects of a release: machines have none of them. */
const NOT_OF_MACHINES: ReadonlySet<Disruption> = new Set(['ChangeControlPlane', 'DeleteControlPlane', 'MassPrune'])

export interface ShippedPolicy {
  readonly name: string
  readonly spec: DefenderPolicyInput['spec']
}

interface Row {
  readonly title: string
  readonly operation: Disruption
  readonly isWithoutDisruption?: boolean
}

const ROWS: readonly Row[] = [
  ...DISRUPTIONS.filter((operation) => !NOT_OF_MACHINES.has(operation)).map((operation) => ({
    title: code(operation),
    operation,
  })),
  {
    title: `${code('SwitchComponent')} to a version with ${code('disruption: None')}`,
    operation: 'SwitchComponent',
    isWithoutDisruption: true,
  },
]

export const roomPage = (shipped: readonly ShippedPolicy[]): string =>
  join([
    '# Small fleets: how many machines at once',
    '<!-- Generated from src/defender and rules/defender by npm run gen. -->',
    'The Defender decided about fleets of one to ten machines for this page: every machine serves and asks for the same operation at the same moment, in racks of its own. A number is how many get it at once; the others wait until those are done. 0 means that the operation never starts.',
    'A health floor in percent rounds up, the safe side. Below 100% it leaves room for one machine where all are well, otherwise three machines under 80% could never change. There is no such room while another machine is unavailable or unknown, is being worked on, or is being replaced by its MachineSet. A plain number and 100% bind as they are written: a floor of 1 in a pool of one machine blocks every operation that takes that machine away, and the plan of such a commit names the floor.',
    'Some operations leave the machine serving. They pass health floors and budgets of `unavailable` targets, and wait for rates, windows, breakers, approvals and budgets of `concurrent` operations alone.',
    ...shipped.flatMap((policy) => [
      `## ${policy.name}`,
      granting(policyOf(policy), 0),
      `The same with one more machine that is not healthy:`,
      granting(policyOf(policy), 1),
    ]),
    `## Without a policy`,
    granting(builtinPolicy, 0),
    '## Health floors alone',
    'How many machines may be away at once under a floor, where all are well:',
    table(
      [code('healthFloor'), ...SIZES.map(String)],
      FLOORS.map((floor) => [
        code(String(floor)),
        ...SIZES.map((total) => String(Math.max(0, total - floorLimit(floor, { total, coming: 0 })))),
      ]),
    ),
  ])

/** As the API server stores it, with its defaults. */
export const policyOf = ({ name, spec }: ShippedPolicy): CompiledPolicy => {
  const written = { apiVersion: API_GROUP_VERSION, kind: 'DefenderPolicy', metadata: { name }, spec }
  return compilePolicy(applyDefaults(defenderPolicy.schema, written) as DefenderPolicy)
}

const granting = (policy: CompiledPolicy, broken: number): string =>
  table(
    ['operation', ...SIZES.map(String)],
    ROWS.map((row) => [row.title, ...SIZES.map((size) => String(grantedAtOnce(policy, row, { size, broken })))]),
  )

interface FleetWish {
  /** Machines that are well; each asks. */
  readonly size: number
  /** More that are not, and do not ask. */
  readonly broken: number
}

export function grantedAtOnce(policy: CompiledPolicy, row: Omit<Row, 'title'>, { size, broken }: FleetWish): number {
  const machines = Array.from({ length: size + broken }, (_, n) => machineOf(n, n < size))
  const targets = machines
    .slice(0, size)
    .map(({ metadata: { name = '', uid = '' } }) => ({ kind: 'Machine' as const, name, uid }))
  const permit: OperationPermit = {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationPermit',
    metadata: { name: 'all', uid: 'all', creationTimestamp: timestamp(NOW) },
    spec: {
      operations: [row.operation],
      targets,
      requester: { manager: 'kubenode-remedyjob' },
      reason: 'reference',
      recovery: false,
      leaseSeconds: 120,
    },
  }
  const decision = decide(
    {
      permits: [permit],
      policies: [policy],
      holds: [],
      approvals: [],
      fleet: fleetView({ machines, nodes: [], clusters: [] }),
      hosts: new Map(),
      unknown: undefined,
      cluster: undefined,
      wall: NOW,
      leasesOver: new Set(),
      deletedPermits: new Set(),
      deletedTargets: new Set(),
      suspicions: [],
      retried: new Set(),
      isIdle: () => false,
      isRecovery: () => false,
      isWithoutDisruption: () => row.isWithoutDisruption === true,
      rules: new Map(),
    },
    undefined,
    { now: NOW, leader: 'reference' },
  )
  return decision.ledger?.grants?.length ?? 0
}

function machineOf(n: number, isWell: boolean): Machine {
  const condition = (type: string, status: 'True' | 'False') => ({
    type,
    status,
    reason: 'Reference',
    message: '',
    lastTransitionTime: timestamp(NOW),
  })
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: `m-${n}`, uid: `m-${n}` },
    spec: { channel: 'Agent', rack: `r-${n}` },
    status: {
      phase: 'Ready',
      conditions: [condition('Ready', isWell ? 'True' : 'False'), condition('AgentReachable', 'True')],
    },
  }
}
