// Keeps one agent running and switches it: starts the copy that `current` points to, and restores the previous one when a new one does not report.
// Small, and changed as rarely as possible: only systemd supervises it.
import { spawn, type ChildProcess } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import { textIfThere } from '#lib/whole-file.ts'
import { MAX_ENDS, judgeTrial, pauseMs, type Verdict } from './supervision.ts'
import * as place from './switch-file.ts'

export interface AgentSupervisorOptions {
  /** The agent's state folder. */
  readonly state: string
  readonly node: string
  /** The copy from the join. */
  readonly program: string
  /** Further arguments of the agent. */
  readonly args: readonly string[]
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const POLL_MS = 1_000
/** An agent that exits with this code has logged why; an immediate restart does not fix it. */
const FINAL_CODES: ReadonlySet<number> = new Set([0, 75, 78])

/** Returns the exit code of an agent that ended for good. */
export async function superviseAgent(options: AgentSupervisorOptions): Promise<number> {
  const { clock, log, signal } = options
  let inARow = 0
  let trial: { readonly to: string; readonly since: number; ends: number } | undefined
  /** The switch was abandoned, and the disk was too full to record it. */
  let unwritten: place.AgentSwitch | undefined
  while (!signal.aborted) {
    const isOver = unwritten !== undefined && openSwitch(options.state)?.to !== unwritten.to
    if (isOver || (unwritten?.gaveUp !== undefined && wentBack(options, unwritten, unwritten.gaveUp)))
      unwritten = undefined
    const open = unwritten ?? openSwitch(options.state)
    if (open?.gaveUp === undefined && open?.to !== trial?.to)
      trial = open === undefined ? undefined : { to: open.to, since: clock.monotonic(), ends: 0 }
    const startedAt = clock.monotonic()
    const child = start(options)
    const code = await ended(child, options, () => {
      const forMs = trial === undefined ? 0 : clock.monotonic() - trial.since
      return judgeTrial({ open, reported: reported(options.state), ends: 0, forMs }).kind
    })
    if (signal.aborted) return code
    if (code === place.EXIT_SWITCH) {
      inARow = 0
      continue
    }
    if (trial !== undefined) trial.ends++
    const verdict = judgeTrial({
      open,
      reported: reported(options.state),
      ends: trial?.ends ?? 0,
      forMs: trial === undefined ? 0 : clock.monotonic() - trial.since,
    })
    if (verdict.kind === 'GoBack' && open !== undefined) {
      log.warn('rolling the agent back', { to: open.from, reason: verdict.reason })
      unwritten = wentBack(options, open, verdict.reason) ? undefined : { ...open, gaveUp: verdict.reason }
      trial = undefined
      if (unwritten !== undefined) await clock.sleep(POLL_MS, signal).catch(() => undefined)
      continue
    }
    if (FINAL_CODES.has(code) && verdict.kind !== 'Wait' && unwritten === undefined) return code
    const ranMs = clock.monotonic() - startedAt
    inARow = ranMs > POLL_MS * 60 ? 0 : inARow + 1
    log.warn('agent ended', { code, ranMs: Math.round(ranMs) })
    await clock
      .sleep(verdict.kind === 'Wait' ? POLL_MS / MAX_ENDS : pauseMs(inARow, ranMs), signal)
      .catch(() => undefined)
  }
  return 0
}

function start({ state, node, program, args }: AgentSupervisorOptions): ChildProcess {
  const slot = currentSlot(state)
  const own = slot === '' ? undefined : join(place.agentSlotFolder(state, slot), place.AGENT_PROGRAM)
  const itsNode = slot === '' ? node : join(place.agentSlotFolder(state, slot), place.AGENT_NODE)
  return spawn(
    existsSync(itsNode) ? itsNode : node,
    [own ?? program, ...args, '--slot', own === undefined ? '' : slot],
    {
      stdio: 'inherit',
    },
  )
}

/** Empty: the copy from the join. */
function currentSlot(state: string): string {
  try {
    const slot = basename(readlinkSync(place.agentCurrentLink(state)))
    return existsSync(join(place.agentSlotFolder(state, slot), place.AGENT_PROGRAM)) ? slot : ''
  } catch {
    return ''
  }
}

/** Polls only while a trial is undecided: an idle agent costs nothing. */
function ended(
  child: ChildProcess,
  { clock, signal }: AgentSupervisorOptions,
  verdict: () => Verdict['kind'],
): Promise<number> {
  return new Promise((resolve) => {
    const pass = (): void => void child.kill('SIGTERM')
    signal.addEventListener('abort', pass, { once: true })
    let timer: { cancel(): void } | undefined
    const check = (): void => {
      const kind = verdict()
      // The agent may hang so that TERM does not end it.
      if (kind === 'GoBack') child.kill('SIGKILL')
      timer = kind === 'Wait' ? clock.after(POLL_MS, check) : undefined
    }
    check()
    const done = (code: number): void => {
      timer?.cancel()
      signal.removeEventListener('abort', pass)
      resolve(code)
    }
    child.once('error', () => done(1))
    child.once('exit', (code) => done(code ?? 1))
  })
}

const openSwitch = (state: string) => place.parseSwitch(textIfThere(place.switchFile(state)))
const reported = (state: string): string | undefined => textIfThere(place.reportedFile(state))?.trim()

/** False: incomplete. The rest runs before the next start of an agent; this process must not exit because of it. */
function wentBack({ state, log }: AgentSupervisorOptions, open: place.AgentSwitch, reason: string): boolean {
  try {
    goBack(state, open, reason)
    return true
  } catch (error) {
    log.error('cannot roll back yet', { to: open.from, error })
    return false
  }
}

/** The link first, so that the next start runs the copy that worked. Each write is on disk before the next: a bad copy without a trial would run forever. */
function goBack(state: string, open: place.AgentSwitch, reason: string): void {
  const link = place.agentCurrentLink(state)
  if (open.from === '') rmSync(link, { force: true })
  else {
    rmSync(`${link}.back`, { force: true })
    symlinkSync(place.agentSlotFolder(state, open.from), `${link}.back`)
    renameSync(`${link}.back`, link)
  }
  syncFolder(dirname(link))
  writeFileSync(`${place.switchFile(state)}.back`, JSON.stringify({ ...open, gaveUp: reason }), { flush: true })
  renameSync(`${place.switchFile(state)}.back`, place.switchFile(state))
  syncFolder(state)
}

function syncFolder(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
