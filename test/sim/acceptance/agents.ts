// Agents that run acceptances: the real AcceptanceRuns on a disk in memory, with scripts that hang, fail or pass. Each agent is restarted once in each phase.
import { AcceptanceRuns } from '#agent/acceptance/acceptance-runs.ts'
import { nodeDir } from '#agent/node-dir.ts'
import type { StepResult } from '#agent/repair/steps.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { jsonEqual } from '#lib/json.ts'
import { silentLogger } from '#lib/log.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import type { MemoryHost } from '#test/doubles/providers/memory-provider.ts'
import { every } from '../machines/surroundings.ts'
import type { World } from '../world.ts'

/** What really happened on the nodes. */
export interface Truth {
  /** Scripts that were started, by run. */
  readonly starts: Map<string, number>
  /** Runs whose script passed. */
  readonly passed: Set<string>
}

/** Fails each time; every other script hangs in the first attempt, fails in the second, and passes from then on. */
export const BAD = 'bad'
const SCRIPT_MS = 10_000
const LOOK_MS = 1_000
/** Once, for each machine, this long after it was first seen in a phase: while its script runs, or while it waits. */
const RESTART_MS = [4_000, 15_000, 100_000] as const

const NO_RESULT = { finishedAt: null, outcome: null, output: null }

interface Agent {
  readonly files: MemoryFiles
  runs: AcceptanceRuns
  isLoaded: boolean
  restarts: number[]
}

export interface AgentOptions {
  /** False is a planted bug: an agent that does not know what it started. */
  readonly hasJournal?: boolean
}

export function runAcceptances(
  world: World,
  hosts: ReadonlyMap<string, MemoryHost>,
  truth: Truth,
  { hasJournal = true }: AgentOptions = {},
): { readonly restartSoon: () => void } {
  const agents = new Map<string, Agent>()
  const start = (agent: Agent, uid: string): void => {
    agent.isLoaded = false
    const runs = new AcceptanceRuns({
      files: agent.files,
      dir: nodeDir(`/nodes/${uid}`),
      clock: world.clock,
      log: silentLogger,
      onChange: () => undefined,
      runScript: ({ component }, signal) => scriptOf(world, uid, component, truth, () => agent.runs === runs, signal),
    })
    agent.runs = runs
    void (hasJournal ? runs.load() : Promise.resolve()).then(() => {
      agent.isLoaded = true
    })
  }
  const agentOf = (uid: string): Agent => {
    const known = agents.get(uid)
    if (known !== undefined) return known
    const agent = { files: new MemoryFiles(), restarts: restartsAfter(world, agents.size) } as unknown as Agent
    start(agent, uid)
    agents.set(uid, agent)
    return agent
  }
  every(world, LOOK_MS, () => {
    for (const m of world.fake.all(machineType) as readonly Machine[]) {
      const { name = '', uid = '' } = m.metadata
      if (hosts.get(`process://${name}`)?.machineUid !== uid || m.metadata.deletionTimestamp !== undefined) continue
      const agent = agentOf(uid)
      const [restart] = agent.restarts
      if (restart !== undefined && world.clock.monotonic() >= restart) {
        agent.restarts = agent.restarts.slice(1)
        start(agent, uid)
      }
      if (!agent.isLoaded) continue
      agent.runs.obey(m)
      const { report } = agent.runs
      if (report !== undefined && !jsonEqual(m.status?.acceptanceReport, report))
        // An apply removes what the last report had; a merge needs to be told.
        world.fake.poke(machineType, { name }, { status: { acceptanceReport: { ...NO_RESULT, ...report } } }, 'status')
    }
  })
  return {
    restartSoon: () => {
      for (const [n, agent] of [...agents.values()].entries()) agent.restarts = restartsAfter(world, n)
    },
  }
}

const restartsAfter = ({ clock }: World, n: number): number[] => [
  clock.monotonic() + (RESTART_MS[n % RESTART_MS.length] ?? 0),
]

/** A script whose agent was killed never reports an end. */
function scriptOf(
  { fake, clock }: World,
  uid: string,
  component: string,
  truth: Truth,
  isAlive: () => boolean,
  signal: AbortSignal,
): Promise<StepResult> {
  const machine = (fake.all(machineType) as readonly Machine[]).find((m) => m.metadata.uid === uid)
  const { run = '', attempt = 0 } = machine?.status?.acceptance ?? {}
  truth.starts.set(run, (truth.starts.get(run) ?? 0) + 1)
  return new Promise((resolve) => {
    if (component !== BAD && attempt === 1) return
    clock.after(SCRIPT_MS, () => {
      if (!isAlive() || signal.aborted) return
      const isPassing = component !== BAD && attempt >= 3
      if (isPassing) truth.passed.add(run)
      resolve(isPassing ? { outcome: 'Succeeded', output: 'fine' } : { outcome: 'Failed', output: '2 bad pages' })
    })
  })
}
