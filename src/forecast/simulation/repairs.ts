// The repairs of a simulated cluster: the remedy controller's own verdicts and plan, with jobs that live in memory and ask the Defender of the same world.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { VerdictBook } from '#controllers/remedy/verdicts/verdict-book.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import { parseDuration } from '#lib/duration.ts'
import { isOpen } from '#defender/permit-phase.ts'
import { maintainedBy } from '#nodes/faults/maintenance.ts'
import { type NodeView, nodeView } from '#nodes/faults/node-view.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { Measured } from '../backtest/measured.ts'
import { boundText, permitFor } from '../backtest/permits.ts'
import type { RuleSet } from '../backtest/rule-set.ts'
import type { ReplayedJob } from '../backtest/replayed-job.ts'
import { RepairRun } from '../backtest/run.ts'
import { addDisruptive, takesOut } from '../backtest/sums.ts'
import type { Creations } from './creations.ts'
import type { World } from './world.ts'

export interface RepairsOptions {
  readonly world: World
  readonly rules: RuleSet
  /** Whether the operations of the job end the fault of its node; it is ended then. */
  readonly helps: (job: RemedyOperationJob) => boolean
  /** Where replacements get their hosts. */
  readonly creations: Creations
  readonly onEvent: (what: string) => void
}

export interface RepairSums {
  jobs: number
  reboots: number
  drains: number
  replacements: number
  succeeded: number
  escalated: number
  refused: number
}

export class Repairs {
  readonly sums: RepairSums = {
    jobs: 0,
    reboots: 0,
    drains: 0,
    replacements: 0,
    succeeded: 0,
    escalated: 0,
    refused: 0,
  }
  /** Machines that a repair has taken out of service. */
  readonly out = new Set<string>()
  readonly #options: RepairsOptions
  readonly #run: RepairRun
  readonly #book = new VerdictBook({ sleep: async () => undefined })
  readonly #measured = new Measured()
  readonly #due = new Set<string>()
  readonly #views = new Map<string, NodeView>()
  readonly #machineOf: ReadonlyMap<string, string>
  /** Replacements whose host does not come before their timeout. */
  readonly #late = new Set<string>()
  #permits = new Set<string>()
  #bound: ReadonlySet<string> = new Set()

  /** `machineOf`: node → machine. */
  constructor(options: RepairsOptions, machineOf: ReadonlyMap<string, string>) {
    this.#options = options
    this.#machineOf = machineOf
    const { world, rules, helps, onEvent } = options
    for (const name of world.nodes.keys()) this.#due.add(name)
    this.#run = new RepairRun({
      rules,
      durationMs: (job) => this.#measured.durationMs(job) + parseDuration(job.spec.stableFor),
      startedMs: (job, at) => this.#replacedMs(job, at),
      helps: (job) => !this.#late.has(job.metadata.name ?? '') && helps(job),
      ask: (job, now) => this.#ask(job, now),
      onCreated: ({ job }) => this.#created(job),
      onStarted: (replayed) => {
        if (takesOut(replayed)) this.out.add(machineNameOf(replayed.job))
        onEvent(`${repairText(replayed.job)} starts`)
        this.#due.add(replayed.job.spec.node.name)
      },
      onFinished: (replayed) => this.#finished(replayed),
      onBound: (bound) => {
        this.#bound = bound
      },
    })
  }

  /** The node or its machine changed. */
  note(node: string): void {
    this.#due.add(node)
  }

  get wakeAt(): number {
    return Math.min(this.#run.wakeAt, this.#book.changesAt ?? Infinity)
  }

  get isAnyOpen(): boolean {
    for (const _ of this.#run.openJobs) return true
    return false
  }

  /** What repairs wait for now: limits of rules, and gates of the Defender. */
  get waits(): ReadonlySet<string> {
    const { permits } = this.#options.world
    const gates = [...this.#permits].flatMap((name) => {
      const verdict = permits.get(name)?.status?.verdicts?.find((v) => v.verdict === 'Waiting')
      return verdict === undefined ? [] : [boundText(verdict as unknown as Parameters<typeof boundText>[0])]
    })
    return new Set([...this.#bound, ...gates])
  }

  /** Returns whether anything was decided. */
  async step(now: number): Promise<boolean> {
    const { world, rules } = this.#options
    const isAnswered = this.#answers(now)
    const version = this.#book.version
    const isTimed = (this.#book.changesAt ?? Infinity) <= now
    const active = rules.active()
    if (active.length > 0 && (this.#due.size > 0 || isTimed)) {
      const changed = new Map([...this.#due].map((name) => [name, this.#viewOf(name)] as const))
      this.#due.clear()
      const repairsOf = (uid: string) => repairsFact(this.#run.jobsOf(uid), now)
      await this.#book.update(changed, { active, remediers: rules.remediers(), repairsOf }, now)
    }
    if (!isAnswered && version === this.#book.version && !this.#run.isDue && this.#run.wakeAt > now) return false
    this.#run.step(
      now,
      { nodes: this.#book.bad(), counts: this.#book.counts() },
      {
        holds: world.holds,
        maintained: maintainedBy(world.maintenance),
        isUnknown: () => false,
        isSilent: (node) => this.#views.get(node)?.standing.kind === 'Silent',
      },
    )
    return true
  }

  #viewOf(name: string): NodeView | undefined {
    const { world } = this.#options
    const node = world.nodes.get(name)
    const machine = world.machines.get(this.#machineOf.get(name) ?? '')
    const view = node === undefined ? undefined : nodeView(node, machine, this.#views.get(name))
    if (view === undefined) this.#views.delete(name)
    else this.#views.set(name, view)
    return view
  }

  #created(job: RemedyOperationJob): void {
    if (job.spec.dryRun) return
    const { sums } = this
    sums.jobs++
    addDisruptive(sums, job)
    this.#options.onEvent(`${repairText(job)} is created`)
    this.#due.add(job.spec.node.name)
  }

  /** What disrupts nothing needs no permit. */
  #ask(job: RemedyOperationJob, now: number): void {
    const { world } = this.#options
    const permit = permitFor(job, world.machines.get(job.spec.machine ?? '')?.metadata.uid, now)
    const name = permit.metadata.name ?? ''
    if (permit.spec.operations.length === 0) return this.#run.granted(name, now)
    world.putPermit(permit)
    this.#permits.add(name)
  }

  /** A replacement also waits for its host; the others take as long as ever. */
  #replacedMs(job: RemedyOperationJob, now: number): number | undefined {
    if (job.spec.dryRun || !job.spec.operations.some((o) => o.replace !== undefined)) return undefined
    const waitMs = this.#options.creations.order(now) - now
    if (waitMs === 0) return undefined
    const [ownMs, mostMs] = [this.#measured.durationMs(job), parseDuration(job.spec.timeout)]
    if (waitMs + ownMs > mostMs) this.#late.add(job.metadata.name ?? '')
    return Math.min(waitMs + ownMs, mostMs) + parseDuration(job.spec.stableFor)
  }

  #answers(now: number): boolean {
    const { world } = this.#options
    const { permits } = world
    let isAny = false
    for (const name of this.#permits) {
      const permit = permits.get(name)
      const phase = permit?.status?.phase
      if (phase === 'Granted') this.#run.granted(name, now)
      else if (permit === undefined || phase === 'Denied') {
        this.sums.refused++
        this.#run.refused(name, now)
      }
      if (permit !== undefined && isOpen(permit)) continue
      this.#permits.delete(name)
      world.removePermit(name)
      isAny = true
    }
    return isAny || this.#run.isDue
  }

  #finished({ job, startedAt }: ReplayedJob): void {
    this.out.delete(machineNameOf(job))
    this.#due.add(job.spec.node.name)
    const { world, onEvent } = this.#options
    const { outcome } = job.status ?? {}
    if (!job.spec.dryRun) {
      if (outcome === 'Succeeded') this.sums.succeeded++
      if (outcome === 'Escalated') this.sums.escalated++
      onEvent(`${repairText(job)} ends: ${outcome ?? 'unknown'}`)
    }
    const name = job.metadata.name ?? ''
    const permit = world.permits.get(name)
    if (permit === undefined) return
    const result = startedAt === undefined ? 'Released' : outcome === 'Succeeded' ? 'Succeeded' : 'Failed'
    const results = Object.fromEntries(permit.spec.targets.map((t) => [t.uid, result] as const))
    world.putPermit({ ...permit, spec: { ...permit.spec, results } })
  }
}

const machineNameOf = ({ spec }: RemedyOperationJob): string => spec.machine ?? spec.node.name

const repairText = (job: RemedyOperationJob): string =>
  `repair of ${job.spec.node.name} by ${ruleOf(job)}, rung ${job.spec.rung}`
