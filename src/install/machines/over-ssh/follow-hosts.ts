// Follows hosts until each is joined, failed or waits for a person: one table that moves on a terminal, a line per change elsewhere.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { Clock } from '#lib/clock.ts'
import { inParallel } from '#lib/pool.ts'
import { shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { linePainter } from '#lib/terminal/paint-line.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { type Screen, createScreen } from '#lib/terminal/screen.ts'
import {
  type HostProgress,
  type HostState,
  headLine,
  isHeld,
  isOver,
  outcomeText,
  progressOf,
  tableLines,
} from './join-states.ts'
import { OUTAGE_MS, isOutage, outageText } from './through-outage.ts'

const EVERY_MS = 2_000
/** In a pipe: often enough for a log that a person reads. */
const HEAD_EVERY_MS = 30_000
/** A paused join is decided again every 30 s. */
const HELD_MS = 45_000
/** More are listed: a list of all Machines is then cheaper than a request for each host. */
const MOST_BY_NAME = 50
const READ_AT_ONCE = 8

export interface FollowHosts {
  readonly client: Pick<KubeClient, 'get' | 'list'>
  readonly names: readonly string[]
  /** By name, the join that was asked to begin again: its failure is of before. */
  readonly retried: ReadonlyMap<string, string>
  readonly io: Io
  readonly signal: AbortSignal
  /** The data is printed at the end; lines go to the person. */
  readonly isJson: boolean
  readonly timeoutMs?: number
  readonly clock?: Clock
}

export interface Followed {
  readonly hosts: readonly HostProgress[]
  readonly end: 'Over' | 'Held' | 'Late'
}

export async function followHosts(options: FollowHosts): Promise<Followed> {
  const { client, names, retried, io, signal, timeoutMs, clock = systemClock } = options
  const display = displayOf(options)
  const start = clock.monotonic()
  let settledBefore: number | undefined
  let heldSince: number | undefined
  let outageSince: number | undefined
  let hosts: readonly HostProgress[] = names.map((name) => ({ machine: name, host: '', state: 'Waiting' }))
  try {
    for (;;) {
      signal.throwIfAborted()
      const startedMs = clock.monotonic() - start
      const read = await machinesOf(client, names, signal).catch((error: unknown) => {
        signal.throwIfAborted()
        if (!isOutage(error)) throw error
        return error
      })
      const now = clock.now()
      const elapsedMs = clock.monotonic() - start
      if (read instanceof Error) {
        outageSince ??= startedMs
        if (elapsedMs - outageSince >= OUTAGE_MS) throw read
        // Nothing is known about the hosts by then.
        heldSince = undefined
        const outage = outageText(elapsedMs - outageSince, read)
        display.show(hosts, { settledBefore: settledBefore ?? 0, elapsedMs }, now, outage)
      } else {
        outageSince = undefined
        hosts = names.map((name) => progressOf(name, read.get(name), now, retried.get(name)))
        settledBefore ??= hosts.filter((h) => isOver([h])).length
        display.show(hosts, { settledBefore, elapsedMs }, now)
        if (isOver(hosts)) return { hosts, end: 'Over' }
        heldSince = isHeld(hosts) ? (heldSince ?? elapsedMs) : undefined
        if (heldSince !== undefined && elapsedMs - heldSince >= HELD_MS) return { hosts, end: 'Held' }
      }
      if (timeoutMs !== undefined && elapsedMs >= timeoutMs) return { hosts, end: 'Late' }
      // The program that read the output has ended.
      if (io.signal?.aborted === true) return { hosts, end: 'Late' }
      await clock.sleep(EVERY_MS, signal)
    }
  } finally {
    display.end()
  }
}

async function machinesOf(
  client: FollowHosts['client'],
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Machine>> {
  if (names.length > MOST_BY_NAME)
    return new Map((await listAll(client, machineType, { signal })).map((m) => [nameOf(m), m]))
  const found = new Map<string, Machine>()
  await inParallel(names, READ_AT_ONCE, async (name) => {
    const machine = await client.get(machineType, { name }, { signal })
    if (machine !== undefined) found.set(name, machine)
  })
  return found
}

interface Display {
  /** `outage`: the hosts are as last read. */
  show(hosts: readonly HostProgress[], pace: Parameters<typeof headLine>[1], now: number, outage?: string): void
  end(): void
}

function displayOf({ io, isJson }: FollowHosts): Display {
  const width = isJson ? io.errWidth : io.width
  const write = (text: string): void => (isJson ? io.err(text) : io.out(text))
  return width?.() === undefined ? lineDisplay(write, io) : tableDisplay(write, width, io)
}

function tableDisplay(write: (text: string) => void, width: () => number | undefined, io: Io): Display {
  const columns = (): number => width() ?? 100
  const screen: Screen = createScreen(write, {
    isTerminal: true,
    paint: linePainter(paintOf(hasColors(io))),
    size: () => ({ columns: columns(), rows: process.stdout.rows || 50 }),
  })
  return {
    show: (hosts, pace, now, outage) =>
      screen.show([
        headLine(hosts, pace),
        ...(outage === undefined ? [] : [outage]),
        ...tableLines(hosts, now, columns()),
      ]),
    end: () => screen.end(),
  }
}

/** Numbers only: a thousand paused hosts have one cause. */
const PASSING: ReadonlySet<HostState> = new Set<HostState>(['Running', 'Waiting', 'Paused'])

/** Each end of a host once, and numbers now and then. */
function lineDisplay(write: (text: string) => void, io: Io): Display {
  const shown = new Map<string, string>()
  let headAt = HEAD_EVERY_MS
  let isAway = false
  return {
    show(hosts, pace, _now, outage) {
      // Once for each outage.
      if (outage !== undefined && !isAway) io.err(shownLine(outage))
      isAway = outage !== undefined
      for (const h of hosts) {
        const text = PASSING.has(h.state) ? '' : outcomeText(h)
        if (text === (shown.get(h.machine) ?? '')) continue
        shown.set(h.machine, text)
        if (text !== '') write(shownLine(`${h.machine}: ${text}`))
      }
      if (pace.elapsedMs < headAt) return
      headAt = pace.elapsedMs + HEAD_EVERY_MS
      io.err(shownLine(headLine(hosts, pace)))
    },
    end: () => undefined,
  }
}
