// Holds the node's problems. Each source has its own, kept over restarts of the agent; the condition reporter reads them combined.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { COMPONENT_UNHEALTHY, componentConditionType } from '#api/node-conditions.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { Saver } from '../files/saver.ts'
import { cursorsFile, onNode, problemsFile, type NodeDir } from '../node-dir.ts'
import type { ComponentProblem } from './component-problems.ts'
import { Steps } from '#api/agent-config/log-pattern.ts'
import type { LogRule, LogSource } from '#api/agent-config/log-rules.ts'
import type { ConditionStore } from './npd/monitor-port.ts'
import {
  nextClearMs,
  withComponents,
  withFinding,
  withLine,
  withoutSilent,
  withSighting,
  type Expiry,
  type Now,
  type Problem,
  type Problems,
} from './problems.ts'
import { combine, type Combined, type Findings } from './sources.ts'
import { Tail, type Cursor } from './tail.ts'

export interface BoardDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly bootId: string
  readonly sources: readonly LogSource[]
  readonly clearAfterMs: number
  /** How long ago an earlier board saw what it kept, where one is made for each round. Default: unknown, so it counts as seen now. */
  readonly unwatchedMs?: number
  /** The text of the state that is on the disk, from `saved` of an earlier board. */
  readonly saved?: string
  readonly components: () => ReadonlyMap<string, ComponentProblem | undefined>
  readonly onChange: () => void
  /** Called with a changed condition and the source that changed it, but not for a condition that starts as false. */
  readonly onTurn?: (problem: Problem, source: string) => void
}

/** Which conditions a source may report, and which of them expire. */
export interface SourceRights {
  readonly owns: (type: string) => boolean
  readonly expiries?: readonly Expiry[]
}

/** How often log read positions are saved. After a crash the lines in between are read twice, which is harmless. */
const SAVE_EVERY_MS = 5_000
const COMPONENTS = 'components'
/** Conditions saved by an older agent without sources: each source that may report a condition takes it over. */
const EARLIER_AGENT = 'earlier agent'

/** Rules of one file with the same condition and reason are one source: any of them may end a condition that another one started. */
const logSource = (path: string, { reason }: LogRule): string => `log ${path} ${reason}`

export class ProblemBoard {
  readonly #deps: BoardDeps
  readonly #tails = new Map<string, Tail>()
  readonly #sources = new Map<string, SourceRights>()
  #findings: Findings = new Map()
  #problems: ReadonlyMap<string, Combined> = new Map()
  #timer: { cancel(): void } | undefined
  readonly #saver: Saver
  #isClosed = false
  #foreign: ReadonlySet<string> | 'Unknown' = new Set()

  constructor(deps: BoardDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#saver = new Saver({
      clock,
      log,
      failure: 'cannot save the problems',
      everyMs: SAVE_EVERY_MS,
      state: () => this.#state(),
      ...defined({ saved: deps.saved }),
    })
  }

  /** The conditions to report, without those that other writers report. */
  get problems(): readonly Problem[] {
    const foreign = this.#foreign
    return this.#all.filter((p) => (foreign === 'Unknown' ? isOfComponents(p.type) : !foreign.has(p.type)))
  }

  get #all(): readonly Problem[] {
    return [...this.#problems.values()].sort((a, b) => (a.type < b.type ? -1 : 1))
  }

  /** Sets the conditions that another writer keeps fresh on the Node. Until they are known, the agent reports only the conditions of its components. */
  leave(types: ReadonlySet<string> | 'Unknown'): void {
    const before = this.#foreign
    this.#foreign = types
    if (types === 'Unknown') return
    if (before !== 'Unknown' && before.size === types.size && [...types].every((t) => before.has(t))) return
    if (types.size > 0)
      this.#deps.log.info('conditions owned by other reporters are skipped', { conditions: [...types].join(' ') })
    this.#deps.onChange()
  }

  async start(): Promise<void> {
    const { files, dir, sources } = this.#deps
    const kept = await readState(files, problemsFile(dir), parseKept)
    if (kept !== undefined) this.#restore(kept)
    this.open(COMPONENTS, { owns: isOfComponents })
    const cursors = await readState(files, cursorsFile(dir), parseCursors)
    for (const { path, rules } of sources) this.#follow(path, rules, cursors?.[path])
    this.read()
    // Saves findings immediately; read positions alone wait for the interval.
    if (this.#tails.size > 0) this.#saver.saveIn()
  }

  /** Opens the conditions of one source. Conditions saved by an earlier agent stay, unless the source may no longer report them. */
  open(source: string, rights: SourceRights): ConditionStore {
    this.#sources.set(source, rights)
    const own = [...(this.#findings.get(source) ?? [])].filter(([type]) => rights.owns(type))
    const earlier = [...(this.#findings.get(EARLIER_AGENT) ?? [])].filter(([type]) => rights.owns(type))
    this.#set(source, new Map([...earlier, ...own]))
    return {
      source,
      problem: (type) => this.#findings.get(source)?.get(type),
      reported: (type) => this.#problems.get(type),
      find: (type, finding) => {
        if (!this.#isClosed) this.#set(source, withFinding(this.#of(source), type, finding, this.#now()))
      },
      see: (type) => this.#set(source, withSighting(this.#of(source), type, this.#now())),
    }
  }

  /** A source that was removed no longer counts. */
  withdraw(source: string): void {
    this.#sources.delete(source)
    this.#set(source, undefined)
  }

  /** Call after all sources are open: drops saved conditions of sources that the configuration no longer has. */
  dropUnopened(): void {
    for (const source of this.#findings.keys()) if (!this.#sources.has(source)) this.#set(source, undefined)
  }

  /** A condition as the node reports it. */
  problem(type: string): Problem | undefined {
    return this.#problems.get(type)
  }

  /** Checks the components, and conditions that may have expired. */
  read(): void {
    if (this.#isClosed) return
    const { clearAfterMs, components, clock } = this.#deps
    const now = this.#now()
    this.#set(COMPONENTS, withComponents(this.#of(COMPONENTS), components(), now, clearAfterMs))
    const waits = [nextClearMs(this.#of(COMPONENTS), now, clearAfterMs)]
    for (const [source, { expiries = [] }] of this.#sources) {
      if (expiries.length === 0) continue
      this.#set(source, withoutSilent(this.#of(source), expiries, now))
      for (const { condition, clearAfterMs: ms } of expiries) {
        const p = this.#of(source).get(condition)
        if (p?.isTrue === true && ms !== undefined) waits.push(Math.max(0, p.seenAt + ms - now.mono))
      }
    }
    const soonest = Math.min(...waits.flatMap((w) => (w === undefined ? [] : [w])))
    this.#timer?.cancel()
    if (Number.isFinite(soonest)) this.#timer = clock.after(soonest + 1, () => this.read())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#saver.stop()
    for (const tail of this.#tails.values()) tail.close()
    await this.#saver.save()
  }

  /** As `close`, without another save. Returns the text of the state on the disk, for the board of the next round. */
  async end(): Promise<string> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#saver.stop()
    for (const tail of this.#tails.values()) tail.close()
    return this.#saver.saved()
  }

  #of(source: string): Problems {
    return this.#findings.get(source) ?? new Map<string, Problem>()
  }

  #restore({ bootId, problems, findings }: Kept): void {
    const now = this.#now()
    const { unwatchedMs = 0 } = this.#deps
    const isSameBoot = bootId === this.#deps.bootId
    const over = { isTrue: false, reason: 'NodeBooted', message: 'the node has rebooted since', since: now.wall }
    const restored = (p: Problem): Problem => ({
      ...p,
      ...(p.isTrue && !isSameBoot ? over : {}),
      seenAt: now.mono - unwatchedMs,
    })
    const list = findings ?? problems.map((p) => ({ ...p, source: EARLIER_AGENT }))
    const next = new Map<string, Map<string, Problem>>()
    for (const { source, ...p } of list)
      next.set(source, (next.get(source) ?? new Map<string, Problem>()).set(p.type, restored(p)))
    this.#findings = next
    // In the same boot, a condition may have been true for longer than its current source has held it.
    const before = isSameBoot ? combinedBefore(problems) : new Map<string, Combined>()
    this.#problems = combine(before, this.#findings, now)
  }

  #follow(path: string, rules: readonly LogRule[], cursor: Cursor | undefined): void {
    const { dir, clock } = this.#deps
    const bySource = new Map<string, LogRule[]>()
    for (const rule of rules) {
      const source = logSource(path, rule)
      bySource.set(source, [...(bySource.get(source) ?? []), rule])
    }
    for (const [source, own] of bySource)
      this.open(source, { owns: (type) => own.some((r) => r.condition === type), expiries: own })
    const onLines = (lines: readonly string[]): void => {
      const at = this.#now()
      const found = new Map([...bySource.keys()].map((source) => [source, this.#of(source)]))
      for (const line of lines) {
        const steps = new Steps()
        for (const [source, own] of bySource)
          found.set(source, withLine(found.get(source) ?? this.#of(source), own, line, at, steps))
      }
      for (const [source, problems] of found) this.#set(source, problems)
    }
    const tail = new Tail({ path: onNode(dir, path), clock, cursor, onLines })
    this.#tails.set(path, tail)
    tail.start()
  }

  #set(source: string, problems: Problems | undefined): void {
    const earlier = this.#findings.get(source)
    if (problems === earlier || ((problems?.size ?? 0) === 0 && earlier === undefined)) return
    const findings = new Map(this.#findings)
    if (problems === undefined) findings.delete(source)
    else findings.set(source, problems)
    this.#findings = findings
    const before = this.#problems
    this.#problems = combine(before, findings, this.#now())
    this.#report(before, source)
    if (isEqual(earlier, problems)) return
    void this.#saver.save()
    // A new problem may expire: schedule its end.
    queueMicrotask(() => this.read())
  }

  #report(before: ReadonlyMap<string, Combined>, source: string): void {
    const now = this.#problems
    if (isEqual(before, now)) return
    for (const [type, p] of now) {
      const old = before.get(type)
      if (old?.isTrue !== p.isTrue)
        this.#deps.log.info('condition', { condition: type, status: p.isTrue, reason: p.reason })
      const isOthers = this.#foreign !== 'Unknown' && this.#foreign.has(type)
      if ((old?.isTrue ?? false) !== p.isTrue && !isOthers) this.#deps.onTurn?.(p, source)
    }
    this.#deps.onChange()
  }

  #state() {
    const { files, dir, bootId } = this.#deps
    // A repair waits until its component's condition is False, so the next agent must report it too.
    const isKept = (p: Problem): boolean => p.isKept || isOfOneComponent(p.type)
    const findings = [...this.#findings].flatMap(([source, problems]) =>
      [...problems.values()].filter(isKept).map((p) => ({ ...p, source })),
    )
    const kept = { bootId, problems: this.#all.filter(isKept), findings }
    const cursors = Object.fromEntries([...this.#tails].map(([path, tail]) => [path, tail.cursor]))
    const write = async (): Promise<void> => {
      // Findings first, then read positions: after a crash in between, lines are read twice but none are lost.
      await writeDurably(files, problemsFile(dir), JSON.stringify(kept))
      await writeDurably(files, cursorsFile(dir), JSON.stringify(cursors))
    }
    return { text: JSON.stringify([kept, cursors], withoutSightings), write }
  }

  #now(): Now {
    const { clock } = this.#deps
    return { wall: clock.now(), mono: clock.monotonic() }
  }
}

/** That a condition was seen again is nothing to save. */
const withoutSightings = (key: string, value: unknown): unknown => (key === 'seenAt' ? undefined : value)

const isOfOneComponent = (type: string): boolean => type.startsWith(componentConditionType(''))

const isOfComponents = (type: string): boolean => type === COMPONENT_UNHEALTHY || isOfOneComponent(type)

const isSame = (a: Problem | undefined, b: Problem): boolean =>
  a !== undefined &&
  a.isTrue === b.isTrue &&
  a.isUnknown === b.isUnknown &&
  a.reason === b.reason &&
  a.message === b.message

const isProblem = (p: unknown): p is Problem =>
  isObject(p) &&
  typeof p['type'] === 'string' &&
  typeof p['isTrue'] === 'boolean' &&
  typeof p['reason'] === 'string' &&
  typeof p['message'] === 'string' &&
  typeof p['since'] === 'number'

interface Kept {
  readonly bootId: string
  /** The reported conditions; older agents saved nothing else. */
  readonly problems: readonly Problem[]
  readonly findings: readonly Combined[] | undefined
}

function parseKept(v: unknown): Kept | undefined {
  if (!isObject(v) || typeof v['bootId'] !== 'string' || !Array.isArray(v['problems'])) return undefined
  const isFinding = (p: unknown): p is Combined => isProblem(p) && isObject(p) && typeof p['source'] === 'string'
  const findings = Array.isArray(v['findings']) ? v['findings'].filter(isFinding) : undefined
  return { bootId: v['bootId'], problems: v['problems'].filter(isProblem), findings }
}

const combinedBefore = (problems: readonly Problem[]): ReadonlyMap<string, Combined> =>
  new Map(problems.map((p) => [p.type, { ...p, source: '' }]))

const isEqual = (a: Problems | undefined, b: Problems | undefined): boolean =>
  a?.size === b?.size && [...(b ?? [])].every(([type, p]) => isSame(a?.get(type), p))

function parseCursors(v: unknown): Readonly<Record<string, Cursor>> | undefined {
  if (!isObject(v)) return undefined
  const isCursor = (c: unknown): boolean =>
    isObject(c) && Number.isSafeInteger(c['inode']) && Number.isSafeInteger(c['offset'])
  return Object.values(v).every(isCursor) ? (v as unknown as Readonly<Record<string, Cursor>>) : undefined
}
