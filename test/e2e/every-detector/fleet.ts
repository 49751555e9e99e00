// Real agents on played hosts, below the controllers, the Defender and the rules of a new fleet, on an embedded server with the shipped rights. As shipped, with shorter
// looks: only times and the limits on how often are changed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Provider } from '#providers/port.ts'
import { nodeLayout } from '#providers/process/layout.ts'
import { createProcessProvider } from '#providers/process/provider.ts'
import { overridden } from '#test/doubles/providers/memory-provider.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { programFile } from '#test/support/tools/own-build.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'
import kernelMonitor from '../../../template/fleet/kernel-monitor.json' with { type: 'json' }
import { hardwareMonitor } from '../../../rules/monitors/hardware.ts'
import { declareComponents, publishComponents } from './played-components.ts'
import { PlayedController } from './played-controller.ts'
import { PlayedHost } from './played-host.ts'
import { type Played, RULES } from './rows.ts'

export const PATIENCE_MS = 300_000
/** The rules act only where at most a fifth of the pool has the fault. */
const NODES = 8
const POOL = { 'kubenode.io/pool': 'workers' }
const CLASS = 'played'

const OFTEN = { everyMs: '200ms' }
const AGENT = {
  metrics: false,
  monitors: [
    ...kernelMonitor.monitors.map((m) => ({ ...m, clearAfter: { FrequentOOMKill: '30s', TasksHung: '30s' } })),
    ...hardwareMonitor.monitors,
  ],
  detectors: {
    clock: OFTEN,
    disk: { ...OFTEN, paths: ['/'] },
    hungTasks: { ...OFTEN, afterMs: '1s' },
    certificates: { everyMs: '1s' },
    crashLoops: { everyMs: '1s', crashes: 2, windowMs: '20s' },
    readOnly: OFTEN,
    rebootRequired: OFTEN,
    memory: OFTEN,
    pcie: OFTEN,
    storage: OFTEN,
    links: { ...OFTEN, windowMs: '2s' },
    fpga: OFTEN,
    sensors: { everyMs: '1s' },
    diskHealth: { everyMs: '1s' },
    gpu: { everyMs: '1s' },
    eventLog: { everyMs: '1s' },
    rasdaemon: { everyMs: '1s' },
    redfish: { everyMs: '1s' },
    parts: { ...OFTEN, afterMs: '1s', expected: [`${CLASS} gpu=2`] },
  },
}

type Spec = NodeRemedierInput['spec']

/** `for` of conditions: as long as the rule waits before it acts. */
const atOnce = (when: Spec['when']): Spec['when'] =>
  JSON.parse(JSON.stringify(when, (key, value: unknown) => (key === 'for' ? undefined : value))) as Spec['when']
const quick = (spec: Spec): Spec => ({
  ...spec,
  when: atOnce(spec.when),
  for: '0s',
  cooldown: '0s',
  ladder: spec.ladder.map((rung) => ({ ...rung, verify: { ...rung.verify, stableFor: '1s' } })),
  limits: { perNodePerDay: 99, perHour: 999, maxInFlight: NODES },
})

type Runs = Provider & { run(signal: AbortSignal): Promise<void> }

export class DetectorFleet {
  readonly #folder = mkdtempSync(join(tmpdir(), 'kubenode-detectors-'))
  readonly #nodes = join(this.#folder, 'nodes')
  readonly #hosts = new Map<string, PlayedHost>()
  readonly #busy = new Set<string>()
  /** Nodes and the conditions that they had. */
  readonly #had = new Set<string>()
  readonly #controller = new PlayedController()
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  bench: RepairBench | undefined
  /** What the provider was told: the host and the category. */
  readonly reports: string[] = []

  async start(): Promise<void> {
    const bench = await RepairBench.start()
    this.bench = bench
    await this.#controller.start()
    const processes = (await createProcessProvider({
      dir: this.#nodes,
      agent: ({ dir }) => {
        this.host(dir.slice(this.#nodes.length + 1)).boot()
        return [execPath, programFile('agent-main'), '--root', dir]
      },
      agentConfig: async () => JSON.stringify(AGENT),
      compileCache: join(this.#folder, 'compiled'),
      clock: systemClock,
      log: silentLogger,
    })) as Runs
    const provider = overridden(processes, {
      // The vendor that gets the report changes the part.
      reportFault: async (providerID: string, category: string) => {
        const name = providerID.replace(/^.*\//, '')
        this.reports.push(`${name} ${category}`)
        this.host(name).layOut()
        return 'Ordered' as const
      },
    })
    await bench.startDefender()
    const artifacts = join(this.#folder, 'artifacts')
    const trust = await publishComponents(bench, artifacts)
    const modules = [machineModule, machineSetModule, componentSetModule, remedyModule, remedyJobModule]
    const joining = { artifactBase: pathToFileURL(artifacts).href, trust }
    await bench.startControllers(modules, { providers: { process: provider } }, joining)
    await declareComponents(bench, POOL)
    this.#running = processes.run(this.#stop.signal)
    for (const [name, spec] of Object.entries(RULES)) await bench.rule(name, quick(spec))
    const spec = { provider: { name: 'process' }, pool: 'workers', zone: 'one', class: CLASS }
    await bench.create(machineSet, 'workers', {
      replicas: NODES,
      selector: { matchLabels: POOL },
      template: { metadata: { labels: POOL }, spec },
    })
    await until('all nodes are ready', async () => (await this.#ready()).length === NODES || undefined, PATIENCE_MS)
  }

  host(name: string): PlayedHost {
    const host = this.#hosts.get(name) ?? new PlayedHost(nodeLayout(this.#nodes, name), this.#controller)
    this.#hosts.set(name, host)
    return host
  }

  async #ready(): Promise<readonly string[]> {
    const all: readonly Machine[] = (await this.#bench().admin.list(machine)).items
    return all.flatMap((m) =>
      m.status?.phase === 'Ready' && m.metadata.deletionTimestamp === undefined ? [m.metadata.name ?? ''] : [],
    )
  }

  #bench(): RepairBench {
    if (this.bench === undefined) throw new Error('not started')
    return this.bench
  }

  /** A node that no other row uses until `use` is over. A fault that returns to the same node would be the next step of its ladder. */
  async withNode<T>(condition: string, use: (name: string) => Promise<T>): Promise<T> {
    const isFree = (name: string): boolean => !this.#busy.has(name) && !this.#had.has(`${name} ${condition}`)
    const name = await until('a node is free', async () => (await this.#ready()).find(isFree), PATIENCE_MS)
    if (!isFree(name)) return this.withNode(condition, use)
    this.#busy.add(name)
    this.#had.add(`${name} ${condition}`)
    try {
      return await use(name)
    } finally {
      this.#busy.delete(name)
    }
  }

  /** Plugs the fault into the host, and waits for a repair by its rule that succeeded. */
  async repair(row: Played, name: string): Promise<RemedyOperationJob> {
    const bench = this.#bench()
    const before = new Set((await bench.jobs()).map((j) => j.metadata.name))
    row.plug(this.host(name))
    const own = async () => (await bench.jobs()).filter((j) => !before.has(j.metadata.name) && j.spec.machine === name)
    const ended = (j: RemedyOperationJob): boolean =>
      j.spec.remedierRef.name === row.rule && j.status?.outcome === 'Succeeded'
    try {
      return await until(`${name} is repaired`, async () => (await own()).find(ended), PATIENCE_MS)
    } catch (error) {
      const jobs = (await own()).map((j) => [j.spec.remedierRef.name, j.status])
      const conditions = (await bench.node(name))?.status?.conditions
      throw new Error(`${row.detector} ${row.condition}: ${JSON.stringify({ jobs, conditions })}`, { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.bench?.close()
    this.#controller.close()
    for (const { pid } of processesWith(this.#nodes)) process.kill(pid, 'SIGKILL')
    await until('all agents are gone', () => processesWith(this.#nodes).length === 0 || undefined, 20_000)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
