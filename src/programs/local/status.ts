// Reads a local fleet from outside: the same summary as its display, and whether it matches the newest commit.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isStarting } from '#explain/programs.ts'
import { readPrograms } from '#explain/running-programs.ts'
import { type AttentionReport, attentionReport } from '#explain/attention/attention-report.ts'
import { expectedClusters } from '#explain/progress/progress.ts'
import { stuckWhy } from '#explain/progress/stuck.ts'
import { silentMachines, unmet } from '#explain/progress/unmet.ts'
import { notConnected, readObserved } from '#explain/attention/read.ts'
import type { KubeClient } from '#kube/client.ts'
import { businessFolders, HUB, layoutIn, readState } from './layout.ts'
import type { Layout } from './layout.ts'
import { observeFleet } from './observe.ts'
import { commitNames, newestCommit } from './repository.ts'
import { stateLines, summaryLines } from './summary.ts'
import { localErrors } from './local-errors.ts'
import { isLocked, lockedAt } from './lock.ts'

export interface StatusOptions {
  readonly data: string
  /** 0: read once, without waiting. */
  readonly waitMs: number
  readonly connect: (kubeconfig: string) => Promise<{ readonly client: KubeClient }>
  /** Called after each read, with what is still missing and a picture of the fleet with bars. */
  readonly onWait?: (missing: readonly string[], picture: readonly string[]) => void
}

export interface FleetStatus {
  readonly lines: readonly string[]
  readonly missing: readonly string[]
  /** Why waiting cannot help; undefined if the fleet may still get there. */
  readonly stuck: string | undefined
  /** Problems and waits, as `kubenode why` shows them; undefined while no server answers. */
  readonly attention: AttentionReport | undefined
}

const POLL_MS = 300

/** The hub has started at least once, and follows a repository. */
function isStarted(layout: Layout): boolean {
  const state = existsSync(layout.state) ? readState(layout) : undefined
  if (state === undefined || !existsSync(join(layout.repository, '.git'))) return false
  return existsSync(layout.cluster(HUB).adminKubeconfig)
}

export async function fleetStatus({ data, waitMs, connect, onWait }: StatusOptions): Promise<FleetStatus> {
  let layout = layoutIn(data)
  const until = systemClock.monotonic() + waitMs
  const waitFor = (missing: readonly string[], picture: readonly string[] = []): Promise<void> => {
    onWait?.(missing, picture)
    return systemClock.sleep(POLL_MS)
  }
  // Keeps the process alive while it only waits.
  const awake = setInterval(() => undefined, 2 ** 30)
  try {
    while (!isStarted(layout)) {
      // Wait only when another process is starting the fleet.
      if (!isLocked(layout) || systemClock.monotonic() >= until) throw new KubeNodeError(localErrors.KN1215({ data }))
      await waitFor([`the local fleet in ${data} to start its servers`])
      layout = layoutIn(data)
    }
    const hub = (await connect(layout.cluster(HUB).adminKubeconfig)).client
    const called = commitNames(layout.repository)
    const known = new Map<string, Known>()
    for (;;) {
      const business = await clientsOf(layout, connect, known)
      // In a user's fleet the hub has nodes too.
      const clusters = layout.follows === undefined ? business : new Map([[HUB, hub], ...business])
      const seen = await observeFleet(hub, clusters)
      const commit = await newestCommit(layout)
      const missing = [...unmet(seen, commit, await called(commit)), ...silentMachines(seen, lockedAt(layout))]
      const stuck = missing.length === 0 ? undefined : stuckWhy(seen, commit)
      if (missing.length === 0 || stuck !== undefined || systemClock.monotonic() >= until) {
        const isDown = !seen.hub.isReachable && seen.clusters.every((c) => !c.isReachable)
        return {
          lines: stateLines(seen, lockedAt(layout)),
          attention: isDown ? undefined : await attentionIn(hub, clusters, expectedClusters(seen), lockedAt(layout)),
          stuck,
          missing: isDown
            ? ['no cluster answers; if the fleet does not run, start it with kubenode local up']
            : missing,
        }
      }
      await waitFor(missing, summaryLines(seen, lockedAt(layout), true))
    }
  } finally {
    clearInterval(awake)
  }
}

async function attentionIn(
  hub: KubeClient,
  clusters: ReadonlyMap<string, KubeClient>,
  expected: ReadonlySet<string>,
  since: number,
): Promise<AttentionReport> {
  const all = [[HUB, hub] as const, ...[...clusters].filter(([name]) => name !== HUB && expected.has(name))]
  const read = all.map(async ([name, client]) => {
    const programs = async (kinds: readonly string[]) => {
      const stopped = await readPrograms(client, kinds)
      return stopped === 'Hidden' ? stopped : stopped.filter((one) => !isStarting(one, since, systemClock.now()))
    }
    const observed = await readObserved(name, client, programs, () => systemClock.now())
    return observed ?? notConnected(name, 'Refused', 'KubeNode is not installed there')
  })
  return attentionReport(await Promise.all(read), systemClock.now())
}

interface Known {
  readonly text: string
  readonly client: KubeClient
}

/** Clients of the clusters with a folder here. A different control plane may have the name by now, with another kubeconfig. */
async function clientsOf(
  layout: Layout,
  connect: StatusOptions['connect'],
  known: Map<string, Known>,
): Promise<ReadonlyMap<string, KubeClient>> {
  const clients = new Map<string, KubeClient>()
  for (const name of businessFolders(layout)) {
    const file = layout.cluster(name).adminKubeconfig
    try {
      const text = readFileSync(file, 'utf8')
      const before = known.get(name)
      const client = before?.text === text ? before.client : (await connect(file)).client
      known.set(name, { text, client })
      clients.set(name, client)
    } catch {
      // Its control plane is being created or removed, as the hub reports.
    }
  }
  return clients
}
