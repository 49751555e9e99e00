// `kubenode preview list | wait`: preview clusters of branches, and a CI job's wait for one.
import { InvalidArgumentError, Option, type Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { clusterErrors } from '../../fleet/cluster-errors.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'

const POLL_MS = 2_000

interface WaitOptions extends ServerOptions {
  readonly commit?: string
  readonly timeout: string
}

/** At least as long as git's short form. */
const COMMIT = /^[0-9a-f]{7,40}$/

function commitOf(text: string): string {
  if (COMMIT.test(text)) return text
  throw new InvalidArgumentError('write 7 to 40 digits of a commit id, such as $(git rev-parse HEAD)')
}

export function register(program: Command, io: Io): void {
  const group = program.command('preview').description('clusters of their own for branches: list them, wait for one')
  withServer(group.command('list'))
    .description('list branches with a preview: phase, commit, cluster, when it expires, what it waits for')
    .action((options: ServerOptions) => list(options, io))
  withServer(group.command('wait'))
    .description('wait until the preview of a branch is Ready: 0, or 1 when it cannot be, or is not in time')
    .argument('<branch>', 'the branch, such as preview/my-change')
    .addOption(
      new Option('--commit <id>', 'wait for this commit; the newest that sync knows when left out').argParser(commitOf),
    )
    .option('--timeout <duration>', 'how long; then 1, and the preview is still being made', '30m')
    .action((branch: string, options: WaitOptions) => wait(branch, options, io))
}

async function previewsOn(client: KubeClient) {
  const [{ listAll }, { fleetSource }, { cluster }, { previewsIn }] = await Promise.all([
    import('#kube/list-all.ts'),
    import('#api/kinds/fleet-source.ts'),
    import('#api/kinds/cluster.ts'),
    import('#explain/previews.ts'),
  ])
  const sources = await listAll(client, fleetSource)
  const declaring = sources.filter((s) => s.spec.previews !== undefined)
  const clusters = declaring.length === 0 ? [] : await listAll(client, cluster)
  return { declaring, previews: previewsIn(sources, clusters) }
}

async function list(options: ServerOptions, io: Io): Promise<void> {
  const [{ PREVIEW_HEAD, previewRow }, { alignedRows }, { withHubHint }, { painterOf }] = await Promise.all([
    import('#explain/previews.ts'),
    import('#lib/terminal/rows.ts'),
    import('#explain/objects/hub-hint.ts'),
    import('../../get/show.ts'),
  ])
  const client = await connect(options, io)
  const { declaring, previews } = await previewsOn(client)
  if (previews.length === 0) {
    const none =
      declaring.length === 0
        ? 'no previews: no FleetSource has spec.previews (docs/tasks/previews.md)'
        : `no previews: no branch ${declaring.map((s) => printableLine(s.spec.previews?.branches ?? '')).join(', ')}`
    io.err(`${await withHubHint(client, 'no previews', none)}\n`)
    return
  }
  const now = systemClock.now()
  const rows = previews.map((p) => previewRow(p, now).map(printableLine))
  io.out(`${alignedRows([PREVIEW_HEAD, ...rows], io.width?.(), { paint: painterOf(PREVIEW_HEAD, io) })}\n`)
}

async function wait(branch: string, { commit, timeout, ...options }: WaitOptions, io: Io): Promise<void> {
  const timeoutMs = parseDuration(timeout)
  const { isGiven, judgePreview } = await import('#explain/previews.ts')
  const client = await connect(options, io)
  const start = systemClock.monotonic()
  for (let reported = ''; ;) {
    const { declaring, previews } = await previewsOn(client)
    if (!declaring.some((s) => isGiven(s, branch)))
      throw new KubeNodeError(clusterErrors.KN1313_preview({ branch: printableLine(branch) }))
    const found = previews.filter((p) => p.branch === branch)
    const { kind, text } = judgePreview(branch, found, commit)
    if (kind === 'Ready') {
      io.out(shownLine(text))
      return
    }
    if (kind === 'Failed') {
      showProblem(io, shownLine(text))
      throw new Exit(EXIT_DIFFERENT)
    }
    if (text !== reported) io.err(shownLine(text))
    reported = text
    if (systemClock.monotonic() - start >= timeoutMs) {
      showProblem(io, `not Ready after ${formatDuration(timeoutMs)}; it is still being made\n`)
      throw new Exit(EXIT_DIFFERENT)
    }
    await systemClock.sleep(POLL_MS)
  }
}
