// Keeps installed components unmodified: checks a component when the file system reports a change, every few seconds where it cannot, and periodically
// in any case. Runs between two steps of a component, never during a switch.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { causeOf } from '../components/cause.ts'
import { isManifestBroken, readManifest } from '../components/manifest.ts'
import { UNREADABLE_WITHIN_MS } from '../components/plan-open-switch.ts'
import { readSlot, unreadableSlot } from '../components/slot.ts'
import type { ComponentWorker } from '../components/worker.ts'
import type { Processes } from '../supervise/port.ts'
import { closelyWatched, inspectFiles, inspectLinks, type Finding, type InUse } from './inspect.ts'
import { type HealFailure, failedHeal, planDrift } from './plan.ts'
import type { WatchFolder } from '../files/folder-watch.ts'
import { Touches } from './touches.ts'
import { rememberFiles, restoreCurrent, restoreFile, restoreLink, keepForeign, type RestoreDeps } from './restore.ts'
import { onNode } from '../node-dir.ts'

export interface DriftDeps extends RestoreDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly processes: Processes
  readonly workers: () => readonly ComponentWorker[]
  readonly tidy?: () => Promise<void>
  readonly inspectRunning: (inUse: InUse) => Promise<readonly Finding[]>
  readonly watchFolder?: WatchFolder
  /** What an earlier watch of the same host restored, by component and slot. */
  readonly past?: DriftPast
  readonly onHealed: (component: string, what: string) => void
  /** Another program changed it so often that restoring stops for now. */
  readonly onLeft: (component: string, what: string) => void
}

/** What outlives a watch, where one is made for each round: otherwise a fight with another program would never end. */
export type DriftPast = Map<string, Pick<Watched, 'heals' | 'left'> & { readonly slot: string }>

/** A change is found within seconds even without an event. */
const POLL_MS = 4_000
/** Check interval where changes are reported as events, because some may be lost. */
const INSPECT_ANYWAY_MS = 60_000
/** Delay after an event: a program that writes one file usually writes a second one. */
const SOON_MS = 500
/** Files checked per round in a large tree that is not watched closely: covers all 5,000 within twenty minutes. */
const SLOW_FILES = 250

interface Watched {
  readonly heals: Map<string, number[]>
  readonly left: Set<string>
  readonly failures: Map<string, HealFailure>
  inUse: InUse
  slowAt: number
  /** The file system reports every change. */
  isWatched: boolean
  /** Undefined: not checked yet, or changed since. */
  inspectedAt: number | undefined
  pid: number | undefined
}

export class DriftWatch {
  readonly #deps: DriftDeps
  readonly #watched = new Map<string, Watched>()
  readonly #touches: Touches
  /** When a slot was first seen to be unreadable. */
  readonly #lostSince = new Map<string, number>()
  #timer: { cancel(): void } | undefined
  #soon: { cancel(): void } | undefined
  #isClosed = false
  #busy: Promise<void> = Promise.resolve()

  constructor(deps: DriftDeps) {
    this.#deps = deps
    this.#touches = new Touches({ ...deps, onTouched: (component) => this.#touched(component) })
  }

  start(): void {
    if (this.#isClosed) return
    const { clock, random } = this.#deps
    this.#timer = clock.after(random.jitter(POLL_MS, 0.2), () => {
      void this.inspectAll().finally(() => this.start())
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#soon?.cancel()
    await this.#busy
    this.#touches.close()
  }

  /** One round at a time. */
  inspectAll(): Promise<void> {
    this.#busy = this.#busy.then(() => this.#round())
    return this.#busy
  }

  /** For a known difference that the file system does not report. */
  inspectSoon(component: string): void {
    this.#touched(component)
  }

  #touched(component: string): void {
    const watched = this.#watched.get(component)
    if (watched === undefined || this.#isClosed) return
    watched.inspectedAt = undefined
    this.#soon ??= this.#deps.clock.after(SOON_MS, () => {
      this.#soon = undefined
      void this.inspectAll()
    })
  }

  async #round(): Promise<void> {
    if (this.#isClosed) return
    await this.#deps.tidy?.()
    const workers = this.#deps.workers()
    for (const component of this.#watched.keys())
      if (!workers.some((w) => w.component === component)) this.#forget(component)
    for (const worker of workers) {
      if (this.#isClosed) return
      if (!this.#isDue(worker)) continue
      try {
        await worker.between(() => this.#inspect(worker))
      } catch (error) {
        this.#deps.log.warn('cannot check the component for drift', { component: worker.component, error })
      }
    }
  }

  #isDue({ component, record, drift }: ComponentWorker): boolean {
    const watched = this.#watched.get(component)
    if (record?.current === undefined || record.open !== undefined) return false
    if (watched === undefined) return true
    const { inUse, isWatched, inspectedAt, pid } = watched
    const { clock, processes } = this.#deps
    return (
      !isWatched ||
      drift !== undefined ||
      inspectedAt === undefined ||
      clock.monotonic() - inspectedAt >= INSPECT_ANYWAY_MS ||
      inUse.slot !== record.current.id ||
      pid !== processes.main?.(component)
    )
  }

  #forget(component: string): void {
    this.#watched.delete(component)
    this.#lostSince.delete(component)
    this.#touches.forget(component)
  }

  async #inspect(worker: ComponentWorker): Promise<void> {
    const { component, record } = worker
    const watched = record?.current === undefined ? undefined : await this.#watch(component, record.current.id)
    if (watched === 'Unreadable') return worker.setDrift(this.#lost(worker))
    this.#lostSince.delete(component)
    if (watched === undefined) return worker.setDrift(undefined)
    const { clock, processes, inspectRunning } = this.#deps
    const { inUse } = watched
    // Read both before the check: a later change is reported as an event, or shows up as a difference.
    watched.inspectedAt = clock.monotonic()
    watched.pid = processes.main?.(component)
    watched.isWatched = await this.#touches.listen(inUse, processes.unitFile?.(component))
    const findings: Finding[] = [
      ...(await inspectLinks(this.#deps, inUse)),
      ...(await inspectFiles(this.#deps, inUse, this.#next(watched))),
      ...(await this.#inspectUnit(inUse)),
      ...(processes.reading(component) === 'Running' ? await inspectRunning(inUse) : []),
    ]
    for (const key of watched.failures.keys()) if (!findings.some((f) => f.key === key)) watched.failures.delete(key)
    const plan = planDrift(findings, watched, clock.monotonic())
    const failed: string[] = []
    for (const finding of plan.heal) {
      const problem = await this.#heal(watched, finding)
      if (problem !== undefined) failed.push(problem)
    }
    for (const finding of plan.giveUp) {
      watched.left.add(finding.key)
      if (finding.kind === 'Link') await keepForeign(this.#deps, component, onNode(this.#deps.dir, finding.link.path))
      this.#deps.log.warn('component no longer repaired: another program keeps changing it', {
        component,
        what: finding.what,
      })
      this.#deps.onLeft(component, finding.what)
    }
    const additions = (await processes.additions?.(component)) ?? []
    worker.setDrift(plan.report ?? failed[0]?.slice(0, 200), [...leftPaths(findings, watched.left), ...additions])
  }

  /** Nothing of it can be compared, and after a restart no probe runs. The set then requests a fresh copy. */
  #lost({ component, record }: ComponentWorker): string | undefined {
    const now = this.#deps.clock.monotonic()
    const since = this.#lostSince.get(component) ?? now
    this.#lostSince.set(component, since)
    const isLong = now - since >= UNREADABLE_WITHIN_MS
    return isLong && record?.current !== undefined ? unreadableSlot(record.current) : undefined
  }

  async #inspectUnit({ component, slot, spec }: InUse): Promise<readonly Finding[]> {
    if (spec.service === undefined) return []
    const change = await this.#deps.processes.drift?.({ component, slot, service: spec.service })
    return change === undefined ? [] : [{ kind: 'Unit', key: 'unit', what: change }]
  }

  /** Undefined: nothing says what was installed. */
  async #watch(component: string, slot: string): Promise<Watched | 'Unreadable' | undefined> {
    const known = this.#watched.get(component)
    if (known?.inUse.slot === slot) return known
    const [spec, manifest] = [
      await readSlot(this.#deps, component, slot),
      await readManifest(this.#deps, component, slot),
    ]
    if (spec === undefined) return 'Unreadable'
    // A slot filled by an older agent has no manifest; one that the disk damaged was set aside.
    if (manifest === undefined) return (await isManifestBroken(this.#deps, component, slot)) ? 'Unreadable' : undefined
    const before = this.#deps.past?.get(component)
    const past = before?.slot === slot ? before : { slot, heals: new Map(), left: new Set<string>() }
    this.#deps.past?.set(component, past)
    const fresh: Watched = {
      heals: past.heals,
      left: past.left,
      failures: new Map(),
      inUse: { component, slot, spec, manifest },
      slowAt: 0,
      isWatched: false,
      inspectedAt: undefined,
      pid: undefined,
    }
    this.#watched.set(component, fresh)
    return fresh
  }

  /** The important files every time, plus some of the rest in rotation. */
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
    try {
      if (finding.kind === 'Current') await restoreCurrent(this.#deps, inUse)
      else if (finding.kind === 'Link') await restoreLink(this.#deps, inUse, finding)
      else if (finding.kind === 'File') {
        const file = await restoreFile(this.#deps, inUse, finding.file)
        const files = inUse.manifest.files.map((f) => (f.path === file.path ? file : f))
        watched.inUse = { ...inUse, manifest: { ...inUse.manifest, files } }
        await rememberFiles(this.#deps, watched.inUse)
      } else if (spec.service !== undefined) await processes.mend?.({ component, slot, service: spec.service })
      watched.failures.delete(finding.key)
      watched.heals.set(finding.key, [...(watched.heals.get(finding.key) ?? []), clock.monotonic()].slice(-10))
      log.warn('component drift repaired', { component, what: finding.what })
      this.#deps.onHealed(component, finding.what)
      return undefined
    } catch (error) {
      log.warn('cannot repair component drift', { component, what: finding.what, error })
      const { message } = causeOf(error, 'InstallFailed')
      const before = watched.failures.get(finding.key)
      watched.failures.set(finding.key, failedHeal(before, finding.what, message, clock.monotonic()))
      return message
    }
  }
}

const leftPaths = (findings: readonly Finding[], left: ReadonlySet<string>): readonly string[] =>
  findings.flatMap((f) => (f.kind === 'Link' && left.has(f.key) ? [f.link.path] : []))
