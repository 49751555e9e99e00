// `kubenode preview list | wait | run`: preview clusters of branches, and what a CI job does with one.
import { InvalidArgumentError, Option, type Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { clusterErrors } from '../../fleet/cluster-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { printWhole, WHOLE_FORMS, type WholeForm } from '../../get/whole.ts'
import { outputOption } from '../../output.ts'
import { previewsOn, untilForgotten, untilReady } from './preview-ready.ts'

interface ListOptions extends ServerOptions {
  readonly output?: WholeForm
}

interface WaitOptions extends ServerOptions {
  readonly commit?: string
  readonly timeout: string
}

interface RunOptions extends ServerOptions {
  readonly repo: string
  readonly remote: string
  readonly timeout: string
}

/** At least as long as git's short form. */
const COMMIT = /^[0-9a-f]{7,40}$/

function commitOf(text: string): string {
  if (COMMIT.test(text)) return text
  throw new InvalidArgumentError('write 7 to 40 digits of a commit id, such as $(git rev-parse HEAD)')
}

export function register(program: Command, io: Io): void {
  const group = program
    .command('preview')
    .description('clusters of their own for branches: list them, wait for one, run a command with one')
  withServer(group.command('list'))
    .description('list branches with a preview: phase, commit, cluster, when it expires, what it waits for')
    .addOption(outputOption(WHOLE_FORMS))
    .action((options: ListOptions) => list(options, io))
  withServer(group.command('wait'))
    .description('wait until the preview of a branch is Ready: 0, or 1 when it cannot be, or is not in time')
    .argument('<branch>', 'the branch, such as preview/my-change')
    .addOption(
      new Option('--commit <id>', 'wait for this commit; the newest that sync knows when left out').argParser(commitOf),
    )
    .option('--timeout <duration>', 'how long; then 1, and the preview is still being made', '30m')
    .action((branch: string, options: WaitOptions) => wait(branch, options, io))
  withServer(group.command('run'))
    .description(
      'push the current commit as a new branch, run a command with the kubeconfig of its preview, delete both',
    )
    .argument('<branch>', 'a branch that the remote does not have, such as preview/ci-4711')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('--repo <dir>', 'the clone', '.')
    .option('--remote <name>', 'the remote that the FleetSource follows', 'origin')
    .option(
      '--timeout <duration>',
      'how long to wait until an earlier preview of the branch was deleted, and then until the new one is Ready',
      '30m',
    )
    .action((branch: string, command: string[], options: RunOptions) => runWith(branch, command, options, io))
}

async function runWith(branch: string, command: readonly string[], asked: RunOptions, io: Io): Promise<void> {
  const { repo, remote, timeout, ...options } = asked
  const withinMs = parseDuration(timeout)
  const [{ runInPreview }, { kubeconfigOf }, { cluster }, { isGiven }] = await Promise.all([
    import('./preview-run.ts'),
    import('../../fleet/cluster-kubeconfig.ts'),
    import('#api/kinds/cluster.ts'),
    import('#explain/previews.ts'),
  ])
  const client = await connect(options, io)
  // Before anything is pushed.
  const { declaring } = await previewsOn(client)
  if (!declaring.some((s) => isGiven(s, branch)))
    throw new KubeNodeError(clusterErrors.KN1313_preview({ branch: printableLine(branch) }))
  const kubeconfig = async (commit: string, signal: AbortSignal): Promise<string> => {
    const { preview, text } = await untilReady(client, { branch, commit, withinMs, signal }, io)
    io.err(shownLine(text))
    const { namespace = '', cluster: name = '' } = preview ?? {}
    const found = await client.get(cluster, { namespace, name })
    if (found === undefined) throw new KubeNodeError(clusterErrors.KN7301_reached({ name, why: 'it was deleted' }))
    return kubeconfigOf(client, found)
  }
  const forgotten = () => untilForgotten(client, branch, withinMs, io)
  await runInPreview({ branch, command, repo, remote, forgotten, kubeconfig }, io)
}

async function list(options: ListOptions, io: Io): Promise<void> {
  const [{ PREVIEW_HEAD, previewRow }, { alignedRows }, { withHubHint }, { painterOf }] = await Promise.all([
    import('#explain/previews.ts'),
    import('#lib/terminal/rows.ts'),
    import('#explain/objects/hub-hint.ts'),
    import('../../get/show.ts'),
  ])
  const client = await connect(options, io)
  const { declaring, previews } = await previewsOn(client)
  if (options.output !== undefined) {
    await printWhole(io, options.output, previews)
    return
  }
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
  const withinMs = parseDuration(timeout)
  const client = await connect(options, io)
  const { text } = await untilReady(client, { branch, commit, withinMs }, io)
  io.out(shownLine(text))
}
