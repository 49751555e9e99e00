// Looks at what is installed every few seconds and keeps it so. Works between two steps of a component, never during a switch.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { readManifest } from '../components/manifest.ts'
import { readSlot } from '../components/slot.ts'
import type { ComponentWorker } from '../components/worker.ts'
import type { Processes } from '../supervise/port.ts'
import { closelyWatched, lookAtFiles, lookAtLinks, type Finding, type InUse } from './look.ts'
import { planDrift } from './plan.ts'
import { rememberFiles, restoreFile, restoreLink, keepForeign, type RestoreDeps } from './restore.ts'
import { onNode } from '../node-dir.ts'

export interface DriftDeps extends RestoreDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly processes: Processes
  readonly workers: () => readonly ComponentWorker[]
  /** Something that is done now and then. */
  readonly tidy?: () => Promise<void>
  readonly lookAtRunning: (inUse: InUse) => Promise<readonly Finding[]>
}

/** Found within seconds; a hundred questions to the file system each time are a millisecond. */
const LOOK_EVERY_MS = 4_000
/** Each round of the slow look takes this many files of large trees. */
const SLOW_FILES = 50

interface Watched {
  readonly heals: Map<string, number[]>
  readonly left: Set<string>
  inUse: InUse
  slowAt: number
}

export class DriftWatch {
  readonly #deps: DriftDeps
  readonly #watched = new Map<string, Watched>()
  #timer: { cancel(): void } | undefined
  #isClosed = false
  #busy: Promise<void> = Promise.resolve()

  constructor(deps: DriftDeps) {
    this.#deps = deps
  }

  start(): void {
    if (this.#isClosed) return
    const { clock, random } = this.#deps
    this.#timer = clock.after(random.jitter(LOOK_EVERY_MS, 0.2), () => {
      this.#busy = this.look().finally(() => this.start())
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#busy
  }

  async look(): Promise<void> {
    await this.#deps.tidy?.()
    const workers = this.#deps.workers()
    for (const component of this.#watched.keys())
      if (!workers.some((w) => w.component === component)) this.#watched.delete(component)
    for (const worker of workers) {
      if (this.#isClosed) return
      try {
        await worker.between(() => this.#lookAt(worker))
      } catch (error) {
        this.#deps.log.warn('component not looked at', { component: worker.component, error })
      }
    }
  }

  async #lookAt(worker: ComponentWorker): Promise<void> {
    const { component, record } = worker
    const watched = record?.current === undefined ? undefined : await this.#watch(component, record.current.id)
    if (watched === undefined) return worker.setDrift(undefined)
    const { clock, processes, lookAtRunning } = this.#deps
    const { inUse } = watched
    const findings: Finding[] = [
      ...(await lookAtLinks(this.#deps, inUse)),
      ...(await lookAtFiles(this.#deps, inUse, this.#next(watched))),
      ...(await this.#lookAtUnit(inUse)),
      ...(processes.reading(component) === 'Running' ? await lookAtRunning(inUse) : []),
    ]
    const plan = planDrift(findings, watched, clock.monotonic())
    const failed: string[] = []
    for (const finding of plan.heal) {
      const problem = await this.#heal(watched, finding)
      if (problem !== undefined) failed.push(problem)
    }
    for (const finding of plan.giveUp) {
      watched.left.add(finding.key)
      if (finding.kind === 'Link') await keepForeign(this.#deps, component, onNode(this.#deps.dir, finding.link.path))
      this.#deps.log.warn('component left as somebody keeps changing it', { component, what: finding.says })
    }
    worker.setDrift(plan.report ?? failed[0]?.slice(0, 200), leftPaths(findings, watched.left))
  }

  async #lookAtUnit({ component, slot, spec }: InUse): Promise<readonly Finding[]> {
    if (spec.service === undefined) return []
    const says = await this.#deps.processes.drift?.({ component, slot, service: spec.service })
    return says === undefined ? [] : [{ kind: 'Unit', key: 'unit', says }]
  }

  async #watch(component: string, slot: string): Promise<Watched | undefined> {
    const known = this.#watched.get(component)
    if (known?.inUse.slot === slot) return known
    const [spec, manifest] = [
      await readSlot(this.#deps, component, slot),
      await readManifest(this.#deps, component, slot),
    ]
    // A slot that an older agent filled has none.
    if (spec === undefined || manifest === undefined) return undefined
    const fresh: Watched = { heals: new Map(), left: new Set(), inUse: { component, slot, spec, manifest }, slowAt: 0 }
    this.#watched.set(component, fresh)
    return fresh
  }

  /** What matters each time, and a few of the rest in turn. */
  #next(watched: Watched) {
    const close = closelyWatched(watched.inUse)
    const all = watched.inUse.manifest.files
    if (all.length === close.length) return close
    const some = all.slice(watched.slowAt, watched.slowAt + SLOW_FILES)
    watched.slowAt = watched.slowAt + SLOW_FILES >= all.length ? 0 : watched.slowAt + SLOW_FILES
    return [...new Set([...close, ...some])]
  }

  async #heal(watched: Watched, finding: Finding): Promise<string | undefined> {
    const { clock, log, processes } = this.#deps
    const { inUse } = watched
    const { component, slot, spec } = inUse
    watched.heals.set(finding.key, [...(watched.heals.get(finding.key) ?? []), clock.monotonic()].slice(-10))
    try {
      if (finding.kind === 'Link') await restoreLink(this.#deps, inUse, finding)
      else if (finding.kind === 'File') {
        const file = await restoreFile(this.#deps, inUse, finding.file)
        const files = inUse.manifest.files.map((f) => (f.path === file.path ? file : f))
        watched.inUse = { ...inUse, manifest: { ...inUse.manifest, files } }
        await rememberFiles(this.#deps, watched.inUse)
      } else if (spec.service !== undefined) await processes.mend?.({ component, slot, service: spec.service })
      log.warn('component put right', { component, what: finding.says })
      return undefined
    } catch (error) {
      log.warn('component not put right', { component, what: finding.says, error })
      return messageOf(error)
    }
  }
}

const leftPaths = (findings: readonly Finding[], left: ReadonlySet<string>): readonly string[] =>
  findings.flatMap((f) => (f.kind === 'Link' && left.has(f.key) ? [f.link.path] : []))
