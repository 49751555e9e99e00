// `kubenode watch`: one calm picture of rollouts and releases, redrawn in place on a terminal; in a pipe a line for each change and nothing else.
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Release, release } from '#api/kinds/release.ts'
import { systemClock } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'
import { createScreen } from '#local/screen.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { EXIT_DIFFERENT, Exit } from '../exit.ts'
import { findObject } from '../inspect/find-object.ts'
import type { Named } from '../inspect/target.ts'
import type { Io } from '../io.ts'
import { newestReleases, releaseLines } from '../release/status.ts'
import { setLines } from '../rollout/status.ts'

const EVERY_MS = 2_000

interface Followed {
  readonly wanted: readonly Named[]
  readonly namespace: string
  readonly isUntilDone: boolean
}

export async function followRollouts(client: KubeClient, followed: Followed, io: Io): Promise<void> {
  const columns = () => io.width?.() ?? 100
  const screen = createScreen((text) => io.out(text), {
    isTerminal: io.isTerminal,
    size: () => ({ columns: columns(), rows: process.stdout.rows || 50 }),
  })
  while (io.signal?.aborted !== true) {
    const seen = await read(client, followed)
    const { state, lines } = pictureOf(seen, systemClock.now(), columns())
    screen.show(lines.map(printableLine))
    if (followed.isUntilDone && state !== 'InProgress') {
      screen.end()
      if (state === 'Failed') throw new Exit(EXIT_DIFFERENT)
      return
    }
    await systemClock.sleep(EVERY_MS, io.signal).catch(() => undefined)
  }
}

interface Seen {
  readonly sets: readonly MachineComponentSet[]
  readonly releases: readonly Release[]
}

async function read(client: KubeClient, { wanted, namespace }: Followed): Promise<Seen> {
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

/** Phases that end without a person. */
const CONTINUES: ReadonlySet<string> = new Set(['Pending', 'Progressing'])
const FAILED: ReadonlySet<string> = new Set(['Failed', 'Paused', 'Blocked'])

function pictureOf({ sets, releases }: Seen, now: number, columns: number): Picture {
  const phases = [...sets, ...releases].map((o) => o.status?.phase ?? 'Pending')
  const state = phases.some((p) => FAILED.has(p))
    ? 'Failed'
    : phases.some((p) => CONTINUES.has(p))
      ? 'InProgress'
      : 'Done'
  const parts = [
    ...releases.map((r) => releaseLines(r, now)),
    ...sets.map((s) => [barOf(s, columns), ...setLines(s, [])]),
  ]
  return { state, lines: parts.length === 0 ? ['no sets and no releases on this server'] : parts.flat() }
}

const [LEAST_BAR, BAR] = [4, 30]

/** How many machines have what the set declares. In a narrow window the bar is shorter and the counts stay. */
export function barOf({ metadata, status }: MachineComponentSet, columns: number): string {
  const { total = 0, updated = 0, failed = 0 } = status?.counts ?? {}
  const around = `${metadata.name ?? ''} [] ${updated}/${total}`
  const bar = Math.max(LEAST_BAR, Math.min(BAR, columns - around.length - 1))
  const part = (n: number) => (total === 0 ? 0 : Math.round((n / total) * bar))
  const [done, bad] = [part(updated), Math.min(bar - part(updated), part(failed))]
  return around.replace('[]', `[${'='.repeat(done)}${'!'.repeat(bad)}${' '.repeat(bar - done - bad)}]`)
}
