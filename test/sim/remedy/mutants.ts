// Planted bugs, one small change to the correct controllers each. They stay in the suite: a simulation that stops finding one of them is broken.
import { act } from '#controllers/remedyjob/act.ts'
import { plan as planJob } from '#controllers/remedyjob/plan.ts'
import { remedyJobModuleOf } from '#controllers/remedyjob/reconcile.ts'
import { plan } from '#controllers/remedy/plan.ts'
import { nodeType } from '#nodes/objects.ts'
import { freshJobs } from '#controllers/remedy/repairs/ledger.ts'
import { remedyModuleOf } from '#controllers/remedy/reconcile.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { Modules } from './simulation.ts'

export interface Mutant {
  readonly name: string
  /** None: it shows without any. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  readonly phases: readonly string[]
  readonly modules: () => Partial<Modules>
}

const WELL = 'a rule, and nodes that are well'

export const mutants: readonly Mutant[] = [
  {
    name: 'mass faults are repaired like any other',
    faults: [],
    within: 1,
    phases: [WELL, 'all fail at once'],
    modules: () => ({
      remedy: remedyModuleOf({
        freshJobs,
        // One node at a time: no share of the fleet is ever bad.
        plan: (seen, now) => {
          const none = new Map(
            [...seen.counts].map(([rule, { selected }]) => [rule, { selected, silent: 0, joining: 0, bad: 0 }]),
          )
          const plans = seen.nodes.map((node) => plan({ ...seen, nodes: [node], counts: none }, now))
          const [first] = plans
          return first === undefined
            ? plan(seen, now)
            : { ...first, actions: plans.flatMap((p) => p.actions).slice(0, 2) }
        },
      }),
    }),
  },
  {
    name: 'limits do not count what is open',
    faults: [],
    within: 1,
    phases: [WELL, 'three fail, and the first rung does not help one'],
    modules: () => ({
      remedy: remedyModuleOf({
        freshJobs,
        plan: (seen, now) => {
          // Each node is planned with its own jobs alone.
          const plans = seen.nodes.map((n) =>
            plan({ ...seen, jobs: seen.jobs.filter((j) => j.spec.node.uid === n.uid) }, now),
          )
          const own = plans.flatMap((p, i) =>
            p.actions.filter((a) => a.kind !== 'CreateJob' || a.job.node.uid === seen.nodes[i]?.uid),
          )
          return { ...plan(seen, now), actions: own }
        },
      }),
    }),
  },
  {
    name: 'an open job is not seen',
    faults: [],
    within: 1,
    phases: [WELL, 'the Defender is away', 'flaps while the job waits'],
    modules: () => ({
      remedy: remedyModuleOf({ freshJobs, plan: (seen, now) => plan({ ...seen, jobs: [] }, now) }),
      // It does not look whether the fault went away meanwhile either, or it would be closed in time.
      job: remedyJobModuleOf({
        act,
        plan: (seen, now) =>
          planJob(seen.fault.kind === 'Absent' ? { ...seen, fault: { kind: 'Present' } } : seen, now),
      }),
    }),
  },
  {
    name: 'starts without a look at the permit',
    faults: [],
    within: 1,
    phases: [WELL, 'one node fails'],
    modules: () => ({
      job: remedyJobModuleOf({
        act,
        plan: (seen, now) => {
          const right = planJob(seen, now)
          const isWaiting = seen.job.status?.phase === 'AwaitingPermit' && right.waiting?.predicate === 'Progressing'
          return isWaiting ? { actions: [], change: { phase: 'Running', startedAt: now } } : right
        },
      }),
    }),
  },
  {
    name: 'keeps its cordon after a repair that helped',
    faults: [],
    within: 1,
    phases: [WELL, 'one node fails'],
    modules: () => ({
      job: remedyJobModuleOf({
        act,
        plan: (seen, now) => {
          const right = planJob(seen, now)
          return { ...right, actions: right.actions.filter((a) => a.kind !== 'ReleaseCordon') }
        },
      }),
    }),
  },
  {
    name: 'never frees its slot',
    faults: [],
    within: 1,
    phases: [WELL, 'one node fails'],
    modules: () => ({
      job: remedyJobModuleOf({
        act,
        plan: (seen, now) => {
          const right = planJob(seen, now)
          return { ...right, actions: right.actions.filter((a) => a.kind !== 'ReportResult') }
        },
      }),
    }),
  },
  {
    name: 'lifts the cordon of whoever it is',
    faults: [],
    within: 1,
    phases: [WELL, 'one node fails'],
    modules: () => ({
      job: remedyJobModuleOf({
        plan: planJob,
        act: async (tools, action, seen, signal) => {
          const outcome = await act(tools, action, seen, signal)
          const { name } = seen.job.spec.node
          if (action.kind !== 'ReleaseCordon') return outcome
          await tools.client.patch(
            nodeType,
            { name },
            {
              type: 'merge',
              value: { metadata: { annotations: { 'kubenode.io/cordon-owners': null } }, spec: { taints: null } },
            },
          )
          return outcome
        },
      }),
    }),
  },
  {
    name: 'believes what a silent node said last',
    faults: [],
    within: 1,
    phases: [WELL, 'the node that fails falls silent before it is repaired'],
    modules: () => ({
      job: remedyJobModuleOf({
        act,
        plan: (seen, now) =>
          planJob(
            seen.fault.kind === 'Unknown'
              ? { ...seen, fault: { kind: 'Present' }, standing: { kind: 'Readable' } }
              : seen,
            now,
          ),
      }),
    }),
  },
  {
    name: 'a higher rule never moves a waiting job out of its way',
    faults: [],
    within: 1,
    phases: [WELL, 'a second, higher rule; the Defender is away', 'two rules hit one node'],
    modules: () => ({
      remedy: remedyModuleOf({
        freshJobs,
        plan: (seen, now) => {
          const right = plan(seen, now)
          return { ...right, actions: right.actions.filter((a) => a.kind !== 'SupersedeJob') }
        },
      }),
    }),
  },
]
