// Holds the problems of the node: fed by components and logs, kept over restarts of the agent, read by the reporter of conditions.
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { COMPONENT_UNHEALTHY, componentConditionType } from '#api/node-conditions.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { Saver } from '../files/saver.ts'
import { cursorsFile, onNode, problemsFile, type NodeDir } from '../node-dir.ts'
import type { ComponentProblem } from './component-problems.ts'
import type { LogSource } from '#api/agent-config/log-rules.ts'
import {
  nextClearMs,
  withComponents,
  withFinding,
  withLine,
  withoutSilent,
  withSighting,
  type Expiry,
  type Finding,
  type Now,
  type Problem,
  type Problems,
} from './problems.ts'
import { Tail, type Cursor } from './tail.ts'

export interface BoardDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly bootId: string
  readonly sources: readonly LogSource[]
  readonly clearAfterMs: number
  readonly components: () => ReadonlyMap<string, ComponentProblem | undefined>
  readonly onChange: () => void
  /** A changed condition; not one that is false from the beginning. */
  readonly onTurn?: (problem: Problem) => void
}

/** How often read positions of logs are saved; after a crash the lines in between are read twice, which changes nothing. */
const SAVE_EVERY_MS = 5_000

export class ProblemBoard {
  readonly #deps: BoardDeps
  readonly #tails = new Map<string, Tail>()
  #problems: Problems = new Map()
  #timer: { cancel(): void } | undefined
  readonly #saver: Saver
  #isClosed = false
  #expiries: readonly Expiry[] = []
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
    })
  }

  /** The conditions to report: without those that other writers report. */
  get problems(): readonly Problem[] {
    const foreign = this.#foreign
    return this.#all.filter((p) => (foreign === 'Unknown' ? isOfComponents(p.type) : !foreign.has(p.type)))
  }

  get #all(): readonly Problem[] {
    return [...this.#problems.values()].sort((a, b) => (a.type < b.type ? -1 : 1))
  }

  /** Conditions that another writer keeps fresh on the Node; while this is unknown only those of our components are reported. */
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
    const { files, dir, clock, bootId, sources } = this.#deps
    const kept = await readState(files, problemsFile(dir), parseKept)
    const now = this.#now()
    for (const p of kept?.problems ?? []) {
      const isOver = p.isTrue && kept?.bootId !== bootId
      const over = {
        ...p,
        isTrue: false,
        reason: 'NodeBooted',
        message: 'the node has rebooted since',
        since: now.wall,
      }
      this.#problems = new Map(this.#problems).set(p.type, { ...(isOver ? over : p), seenAt: now.mono })
    }
    const cursors = await readState(files, cursorsFile(dir), parseCursors)
    for (const { path, rules } of sources) {
      const tail = new Tail({
        path: onNode(dir, path),
        clock,
        cursor: cursors?.[path],
        onLines: (lines) => {
          const at = this.#now()
          this.#set(lines.reduce((problems, line) => withLine(problems, rules, line, at), this.#problems))
        },
      })
      this.#tails.set(path, tail)
      tail.start()
    }
    this.look()
    // Saves findings at once; read positions alone wait for the interval.
    if (this.#tails.size > 0) this.#saver.saveIn()
  }

  /** Records the result of a monitor or a detector at once. */
  find(type: string, finding: Finding): void {
    if (!this.#isClosed) this.#set(withFinding(this.#problems, type, finding, this.#now()))
  }

  /** Confirms a condition that is already true. */
  see(type: string): void {
    this.#set(withSighting(this.#problems, type, this.#now()))
  }

  problem(type: string): Problem | undefined {
    return this.#problems.get(type)
  }

  /** Drops conditions kept from a previous agent that no monitor reports since the configuration changed. */
  retain(types: ReadonlySet<string>): void {
    const own = new Set(this.#deps.sources.flatMap((s) => s.rules.map((r) => r.condition)))
    const left = [...this.#problems].filter(([type, p]) => !p.isKept || types.has(type) || own.has(type))
    if (left.length < this.#problems.size) this.#set(new Map(left))
  }

  /** Conditions that end by silence. */
  expire(expiries: readonly Expiry[]): void {
    this.#expiries = [...this.#expiries, ...expiries]
    this.look()
  }

  /** Checks the components, and conditions that may have ended by now. */
  look(): void {
    if (this.#isClosed) return
    const { clearAfterMs, components, clock, sources } = this.#deps
    const now = this.#now()
    let next = withComponents(this.#problems, components(), now, clearAfterMs)
    const rules: readonly Expiry[] = [...sources.flatMap((s) => s.rules), ...this.#expiries]
    next = withoutSilent(next, rules, now)
    this.#set(next)
    const waits = [
      nextClearMs(next, now, clearAfterMs),
      ...rules.map((r) => this.#silentInMs(r.condition, r.clearAfterMs, now)),
    ]
    const soonest = Math.min(...waits.flatMap((w) => (w === undefined ? [] : [w])))
    this.#timer?.cancel()
    if (Number.isFinite(soonest)) this.#timer = clock.after(soonest + 1, () => this.look())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#saver.stop()
    for (const tail of this.#tails.values()) tail.close()
    await this.#saver.save()
  }

  #silentInMs(condition: string, clearAfterMs: number | undefined, now: Now): number | undefined {
    const p = this.#problems.get(condition)
    return p?.isTrue === true && clearAfterMs !== undefined
      ? Math.max(0, p.seenAt + clearAfterMs - now.mono)
      : undefined
  }

  #set(next: Problems): void {
    const before = this.#problems
    if (next === before) return
    this.#problems = next
    const isNew = next.size !== before.size || [...next].some(([type, p]) => !isSame(before.get(type), p))
    if (!isNew) return
    for (const [type, p] of next) {
      const old = before.get(type)
      if (old?.isTrue !== p.isTrue)
        this.#deps.log.info('condition', { condition: type, status: p.isTrue, reason: p.reason })
      const isOthers = this.#foreign !== 'Unknown' && this.#foreign.has(type)
      if ((old?.isTrue ?? false) !== p.isTrue && !isOthers) this.#deps.onTurn?.(p)
    }
    void this.#saver.save()
    this.#deps.onChange()
    // A new problem may end by itself: schedule its end.
    queueMicrotask(() => this.look())
  }

  #state() {
    const { files, dir, bootId } = this.#deps
    // A repair waits until the condition of its component is False, so the next agent must report it too.
    const kept = { bootId, problems: this.#all.filter((p) => p.isKept || isOfOneComponent(p.type)) }
    const cursors = Object.fromEntries([...this.#tails].map(([path, tail]) => [path, tail.cursor]))
    const write = async (): Promise<void> => {
      // First the findings, then the read positions: a crash in between reads twice and loses nothing.
      await writeDurably(files, problemsFile(dir), JSON.stringify(kept))
      await writeDurably(files, cursorsFile(dir), JSON.stringify(cursors))
    }
    return { text: JSON.stringify([kept, cursors]), write }
  }

  #now(): Now {
    const { clock } = this.#deps
    return { wall: clock.now(), mono: clock.monotonic() }
  }
}

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

function parseKept(v: unknown): { readonly bootId: string; readonly problems: readonly Problem[] } | undefined {
  if (!isObject(v) || typeof v['bootId'] !== 'string' || !Array.isArray(v['problems'])) return undefined
  return { bootId: v['bootId'], problems: v['problems'].filter(isProblem) }
}

function parseCursors(v: unknown): Readonly<Record<string, Cursor>> | undefined {
  if (!isObject(v)) return undefined
  const isCursor = (c: unknown): boolean =>
    isObject(c) && Number.isSafeInteger(c['inode']) && Number.isSafeInteger(c['offset'])
  return Object.values(v).every(isCursor) ? (v as unknown as Readonly<Record<string, Cursor>>) : undefined
}
