// `kubenode watch`: one calm picture of rollouts and releases, redrawn in place on a terminal. In a pipe, one line per change and nothing else.
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type Release, release } from '#api/kinds/release.ts'
import { systemClock } from '#lib/system-clock.ts'
import { formatDuration } from '#lib/duration.ts'
import { printableLine } from '#lib/printable.ts'
import { ladderLines } from '#explain/ladder-lines.ts'
import { createScreen } from '#lib/terminal/screen.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { placeOf } from '#explain/objects/place.ts'
import type { Named } from '../fleet/target.ts'
import { PartialReader } from '#explain/partial-reader.ts'
import { holdEndsOver } from '#explain/read-why.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { newestReleases } from '#explain/newest-releases.ts'
import { storyLines } from '#explain/finding.ts'
import { releaseStory } from '#explain/release/status.ts'
import { setStory } from '#explain/rollout/status.ts'
import { linePainter } from '#lib/terminal/paint-line.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { wrapped } from '#lib/terminal/wrap.ts'

const EVERY_MS = 2_000

export interface Followed {
  /** Empty: all sets and the newest releases. */
  readonly wanted: readonly Named[]
  readonly namespace: string
  readonly isUntilDone: boolean
  /** For following until done; no limit if left out. */
  readonly timeoutMs?: number
}

export async function followRollouts(client: KubeClient, followed: Followed, io: Io): Promise<void> {
  const columns = () => io.width?.() ?? 100
  const screen = createScreen((text) => io.out(text), {
    isTerminal: io.isTerminal,
    foldsLongLines: true,
    paint: linePainter(paintOf(hasColors(io))),
    size: () => ({ columns: columns(), rows: process.stdout.rows || 50 }),
  })
  const start = systemClock.monotonic()
  // Scripts need the verdict, so compute it even if the reader of the output exited.
  const signal = followed.isUntilDone ? undefined : io.signal
  const isOver = (): boolean => signal?.aborted === true
  while (!isOver()) {
    const seen = await read(client, followed)
    const { state, lines } = pictureOf(seen, systemClock.now(), io.isTerminal ? columns() : undefined)
    const shown = lines.map(printableLine)
    screen.show(io.isTerminal ? shown.flatMap((line) => wrapped(line, columns())) : shown)
    const isLate = followed.timeoutMs !== undefined && systemClock.monotonic() - start >= followed.timeoutMs
    if (followed.isUntilDone && (state !== 'InProgress' || isLate)) {
      screen.end()
      if (state === 'InProgress')
        showProblem(io, `still in progress after ${formatDuration(followed.timeoutMs ?? 0)}; it continues\n`)
      if (state !== 'Done') throw new Exit(EXIT_DIFFERENT)
      return
    }
    await systemClock.sleep(EVERY_MS, signal).catch(() => undefined)
  }
}

interface Seen {
  readonly sets: readonly MachineComponentSet[]
  readonly releases: readonly Release[]
}

interface SeenWithHolds extends Seen {
  readonly holds: readonly OperationalHold[]
  readonly place: string
}

/** Only commands that end a hold need them. */
export const holdsOn = (client: KubeClient): Promise<readonly OperationalHold[]> =>
  listAll(new PartialReader(client), operationalHold)

async function read(client: KubeClient, followed: Followed): Promise<SeenWithHolds> {
  const [seen, holds] = await Promise.all([readRollouts(client, followed), holdsOn(client)])
  return { ...seen, holds, place: placeOf(client) }
}

async function readRollouts(client: KubeClient, { wanted, namespace }: Followed): Promise<Seen> {
  if (wanted.length === 0) {
    const [sets, releases] = await Promise.all([
      listed(() => listAll(client, machineComponentSet)),
      listed(() => listAll(client, release, { namespace })),
    ])
    return { sets, releases: newestReleases(releases) }
  }
  const named = (kind: string) => wanted.filter(({ type }) => type.kind === kind)
  const [sets, releases] = await Promise.all([
    Promise.all(named('MachineComponentSet').map((w) => findObject(client, machineComponentSet, w.name, w.noun))),
    Promise.all(named('Release').map((w) => findObject(client, release, { name: w.name, namespace }, w.noun))),
  ])
  return { sets, releases }
}

/** A hub has no sets, and a cluster no releases. */
async function listed<T>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await list()
  } catch (e) {
    if (isApiError(e) && e.status === 404) return []
    throw e
  }
}

interface Picture {
  readonly state: 'InProgress' | 'Done' | 'Failed'
  readonly lines: readonly string[]
}

/** Phases that end without user action. */
const CONTINUES: ReadonlySet<string> = new Set(['Pending', 'Progressing'])
const FAILED: ReadonlySet<string> = new Set(['Failed', 'Paused', 'Blocked'])

/** `columns`: width of a terminal. In a log, each change is a line already, so bars are left out. */
function pictureOf({ sets, releases, holds, place }: SeenWithHolds, now: number, columns: number | undefined): Picture {
  const phases = [...sets, ...releases].map((o) => o.status?.phase ?? 'Pending')
  const state = phases.some((p) => FAILED.has(p))
    ? 'Failed'
    : phases.some((p) => CONTINUES.has(p))
      ? 'InProgress'
      : 'Done'
  // In a log, an age would add a line every second.
  const at = columns === undefined ? undefined : now
  const parts = [
    ...releases.map((r) => {
      const holdEnds = holdEndsOver({ ...r, kind: release.kind }, holds, now)
      return storyLines(releaseStory(r, { now: at, all: releases, holdEnds }))
    }),
    ...sets.map((s) => [
      ...(columns === undefined ? [] : [...barLines(s, columns), ...ladderLines(s, sets).map((line) => `  ${line}`)]),
      ...storyLines(
        setStory(s, { now: at, holdEnds: holdEndsOver({ ...s, kind: machineComponentSet.kind }, holds, now) }),
      ),
    ]),
  ]
  return { state, lines: parts.length === 0 ? [`no sets and no releases in ${place}`] : parts.flat() }
}

const [LEAST_BAR, BAR] = [4, 30]

/** How many machines have what the set declares. In a narrow window the bar shrinks, then moves below the name; the counts stay. */
export function barLines({ metadata, status }: MachineComponentSet, columns: number): readonly string[] {
  const { total = 0, updated = 0, failed = 0 } = status?.counts ?? {}
  const { name = '' } = metadata
  const counts = ` ${updated}/${total}`
  const room = columns - '[]'.length - counts.length - 1
  const isBeside = name.length + 1 + LEAST_BAR <= room
  const bar = Math.max(LEAST_BAR, Math.min(BAR, isBeside ? room - name.length - 1 : room))
  const part = (n: number) => (total === 0 ? 0 : Math.round((n / total) * bar))
  const [done, bad] = [part(updated), Math.min(bar - part(updated), part(failed))]
  const drawn = `[${'='.repeat(done)}${'!'.repeat(bad)}${' '.repeat(bar - done - bad)}]${counts}`
  return isBeside ? [`${name} ${drawn}`] : [name, drawn]
}
