// Shows a set's rollout, its revisions, and a canary's state.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { revisionCalled } from '#explain/rollout/revisions.ts'
import { storyLines } from '#explain/finding.ts'
import { holdEndsOver } from '#explain/read-why.ts'
import { canaryRows, canaryStory, historyRows, setStory } from '#explain/rollout/status.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { calledBeside } from '../../fleet/called-beside.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { named } from '../../fleet/target.ts'
import { followRollouts } from '../../follow/follow.ts'
import { type WaitOptions, waitOf } from '../../follow/waiting.ts'
import { type WholeForm, printWhole } from '../../get/whole.ts'
import { withoutManagers } from '../../get/without-managers.ts'
import { canaryNamed, holdsOver, setAndRevisions } from '#explain/rollout/read.ts'

export interface StatusOptions extends ServerOptions, Omit<WaitOptions, 'output'> {
  readonly output?: WholeForm
}

export interface HistoryOptions extends ServerOptions {
  readonly output?: WholeForm
  readonly revision?: string
}

export async function rolloutStatus(name: string, options: StatusOptions, io: Io): Promise<void> {
  const wait = waitOf(options)
  const client = await connect(options, io)
  const { set } = await setAndRevisions(client, name)
  if (wait !== undefined) {
    const followed = { wanted: [named([`set/${name}`])], namespace: SYSTEM_NAMESPACE, isUntilDone: true, ...wait }
    await followRollouts(client, followed, io)
    return
  }
  if (options.output !== undefined) {
    await printWhole(io, options.output, withoutManagers(set))
    return
  }
  const now = systemClock.now()
  const holds = await holdsOver(client, 'MachineComponentSet', name)
  io.out(shownInWindow(io, storyLines(setStory(set, { now, holds, holdEnds: holdEndsOver(set, holds, now) }))))
}

export async function rolloutHistory(name: string, options: HistoryOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const { set, revisions: all } = await setAndRevisions(client, name)
  const revisions = options.revision === undefined ? all : [revisionCalled(set, all, options.revision, '--revision')]
  if (options.output !== undefined) {
    await printWhole(io, options.output, revisions)
    return
  }
  const called = await calledBeside(
    client,
    revisions.flatMap((r) => r.commit ?? []),
    options,
    io,
  )
  printRows(io, ['REVISION', 'NAME', 'STATE', 'COMMIT', 'COMPONENTS'], historyRows(set, revisions, called))
  for (const r of revisions) for (const line of r.failed) io.err(shownLine(`revision ${r.number} failed: ${line}`))
}

export async function canaryStatus(name: string, options: ServerOptions, io: Io): Promise<void> {
  const found = await canaryNamed(await connect(options, io), name)
  io.out(shownInWindow(io, storyLines(canaryStory(found, systemClock.now()))))
  const rows = canaryRows(found)
  if (rows.length > 0) printRows(io, ['MACHINE', 'COMPONENT', 'STATE', 'HEALTHY SINCE', 'MESSAGE'], rows)
}

/** On a narrow terminal, the longest first. */
const BELOW = ['COMPONENTS', 'COMMIT', 'MESSAGE']

function printRows(io: Io, head: readonly string[], rows: readonly (readonly string[])[]): void {
  io.out(
    `${alignedRows(
      [head, ...rows].map((row) => row.map(printableLine)),
      io.width?.(),
      { below: BELOW },
    )}\n`,
  )
}
