// What a simulation of a large cluster costs: a commit with new versions of twelve components on 10,000 machines, while nodes break for five days and rules repair
// them; and a storm of faults on the same cluster. Processor time, one seed each. The figures:
//   days            simulated time of the rollout's run: five unless it was over before.
//   cpu_s           of that run; at most 300 for 10,000 machines.
//   complete        1 if the rollout ended in time.
//   repairs         that it made.
//   storm_cpu_s     of the storm: 1,000 faults within an hour on 10,000 machines; at most 10.
//   storm_repairs   that it made.
//   rss_mib         the most that the process took.
//   within          1 when the bounds hold.
import type { Scenario } from '#api/scenario.ts'
import { type RunRequest, type RunResult, runOnce } from '#forecast/simulation/run-once.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'
import { rounded } from './result.ts'
import { requestOf } from './simulate/fleet.ts'

const MACHINES = 10_000
const COMPONENTS = 12
const DAYS = 5
/** Machines that break, of all, in a day. */
const FAULTS_A_DAY = 0.002
const STORM_SHARE = 0.1
const MOST_CPU_S = 300
const MOST_STORM_CPU_S = 10

export const smoke: Figures = { machines: 60, components: 2, days: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { machines = MACHINES, components = COMPONENTS, days = DAYS } = numbers
  const stuck = { condition: 'KernelDeadlock', clearedBy: ['reboot'] as const, clearShare: 0.9 }
  const week: Scenario = {
    description: 'nodes break while twelve versions roll out',
    faults: [{ ...stuck, over: `${days * 24}h`, pick: { count: Math.ceil(machines * FAULTS_A_DAY * days) } }],
  }
  const storm: Scenario = {
    description: 'a tenth of the nodes breaks within an hour',
    faults: [{ ...stuck, over: '1h', pick: { count: Math.ceil(machines * STORM_SHARE) } }],
  }
  const rollout = await measured({ ...requestOf(machines, components, 'rollout'), scenario: week, days })
  const broken = await measured({ ...requestOf(machines, components, 'none'), scenario: storm, days })
  const isWithin = rollout.cpuS <= MOST_CPU_S && broken.cpuS <= MOST_STORM_CPU_S
  return {
    figures: {
      machines,
      components,
      days: rounded(rollout.result.ms / 86_400_000),
      cpu_s: rounded(rollout.cpuS),
      complete: rollout.result.completeMs === undefined ? 0 : 1,
      rollout_hours: rounded((rollout.result.completeMs ?? rollout.result.ms) / 3_600_000),
      slices: rollout.result.slices,
      repairs: rollout.result.repairs.jobs,
      storm_cpu_s: rounded(broken.cpuS),
      storm_faults: broken.result.faults.begun,
      storm_repairs: broken.result.repairs.jobs,
      rss_mib: Math.round(process.resourceUsage().maxRSS / 1_024),
      within: isWithin ? 1 : 0,
    },
    peer: null,
    ratio: {},
  }
}

type Measured = Omit<RunRequest, 'seed' | 'mostMs'> & { readonly days: number }

async function measured({
  days,
  ...request
}: Measured): Promise<{ readonly result: RunResult; readonly cpuS: number }> {
  const before = process.cpuUsage()
  const result = await runOnce({ ...request, seed: 0, mostMs: days * 86_400_000 })
  const { user, system } = process.cpuUsage(before)
  return { result, cpuS: (user + system) / 1_000_000 }
}
