// The previews of a hub, and the wait until one is Ready.
import { systemClock } from '#lib/system-clock.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { KubeClient } from '#kube/client.ts'
import { clusterErrors } from '../../fleet/cluster-errors.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'

const POLL_MS = 2_000

export async function previewsOn(client: KubeClient) {
  const [{ listAll }, { fleetSource }, { cluster }, { previewsIn }] = await Promise.all([
    import('#kube/list-all.ts'),
    import('#api/kinds/fleet-source.ts'),
    import('#api/kinds/cluster.ts'),
    import('#explain/previews.ts'),
  ])
  const sources = await listAll(client, fleetSource)
  const declaring = sources.filter((s) => s.spec.previews !== undefined)
  const clusters: readonly Cluster[] = declaring.length === 0 ? [] : await listAll(client, cluster)
  return { sources, declaring, clusters, previews: previewsIn(sources, clusters) }
}

interface Awaited {
  readonly branch: string
  readonly commit: string | undefined
  readonly withinMs: number
  readonly signal?: AbortSignal
}

export async function untilReady(client: KubeClient, { branch, commit, withinMs, signal }: Awaited, io: Io) {
  const { isGiven, judgePreview, stillNot } = await import('#explain/previews.ts')
  const start = systemClock.monotonic()
  for (let reported = ''; ;) {
    const { declaring, previews } = await previewsOn(client)
    if (!declaring.some((s) => isGiven(s, branch)))
      throw new KubeNodeError(clusterErrors.KN1313_preview({ branch: printableLine(branch) }))
    const found = previews.filter((p) => p.branch === branch)
    const { kind, text } = judgePreview(branch, found, commit)
    if (kind === 'Ready') return { text, preview: found[0] }
    if (kind === 'Failed') {
      showProblem(io, shownLine(text))
      throw new Exit(EXIT_DIFFERENT)
    }
    if (text !== reported) io.err(shownLine(text))
    reported = text
    if (systemClock.monotonic() - start >= withinMs) {
      showProblem(io, shownLine(`not Ready after ${formatDuration(withinMs)}; ${stillNot(found)}`))
      throw new Exit(EXIT_DIFFERENT)
    }
    await systemClock.sleep(POLL_MS, signal)
  }
}

/** A cluster that an earlier run used is never given to a later one. */
export async function untilForgotten(client: KubeClient, branch: string, withinMs: number, io: Io): Promise<void> {
  const { leftOfPreview } = await import('#explain/previews.ts')
  const start = systemClock.monotonic()
  for (let reported = ''; ;) {
    const { sources, clusters } = await previewsOn(client)
    const left = leftOfPreview(branch, sources, clusters)
    if (left === undefined) return
    if (systemClock.monotonic() - start >= withinMs) {
      const why = `after ${formatDuration(withinMs)} ${printableLine(left)}`
      throw new KubeNodeError(clusterErrors.KN1386({ branch: printableLine(branch), why }))
    }
    if (left !== reported) io.err(shownLine(`${branch} waits: ${left}`))
    reported = left
    await systemClock.sleep(POLL_MS)
  }
}
