// Shows releases: their progress, those of each track, and how two of them differ in clusters.
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { newestReleases } from '#explain/newest-releases.ts'
import { differenceLines } from '#explain/release/commit-trace.ts'
import { releaseCalled, releaseOrNewestOf, releasesOn } from '#explain/release/find-release.ts'
import { HISTORY_HEAD, historyOf, historyRow } from '#explain/release/history.ts'
import { readReleaseStatus } from '#explain/release/read-status.ts'
import { storyLines } from '#explain/finding.ts'
import type { KubeClient } from '#kube/client.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { named } from '../../fleet/target.ts'
import { followRollouts, holdsOn } from '../../follow/follow.ts'
import { type WaitOptions, waitOf } from '../../follow/waiting.ts'
import { type WholeForm, listOf, printWhole } from '../../get/whole.ts'
import { withoutManagers } from '../../get/without-managers.ts'
import { printNoReleases } from './no-releases.ts'

export interface FormOptions extends ServerOptions {
  readonly output?: WholeForm
}

export interface StatusOptions extends FormOptions, Omit<WaitOptions, 'output'> {}

export async function showStatus(name: string | undefined, options: StatusOptions, io: Io): Promise<void> {
  const wait = waitOf(options)
  const client = await connect(options, io)
  const all = await releasesOn(client)
  const found = name === undefined ? newestReleases(all) : [await releaseOrNewestOf(client, name)]
  if (options.output !== undefined) {
    const [one] = found
    const isOne = name !== undefined && one !== undefined
    await printWhole(io, options.output, isOne ? withoutManagers(one) : listOf(found))
    return
  }
  if (found.length === 0) await printNoReleases(client, io)
  else if (wait !== undefined) await follow(found, client, wait, io)
  else {
    const now = systemClock.now()
    const holds = await holdsOn(client)
    const stories = await Promise.all(found.map((r) => readReleaseStatus(client, r, { all, holds, now })))
    io.out(stories.map((story) => shownInWindow(io, storyLines(story))).join('\n'))
  }
}

async function follow(found: readonly Release[], client: KubeClient, wait: { timeoutMs?: number }, io: Io) {
  const wanted = found.map((r) => named([`release/${r.metadata.name ?? ''}`]))
  await followRollouts(client, { wanted, namespace: SYSTEM_NAMESPACE, isUntilDone: true, ...wait }, io)
}

export async function showHistory(name: string | undefined, options: FormOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const one = name === undefined ? undefined : await releaseOrNewestOf(client, name)
  const releases = historyOf(await releasesOn(client), one?.spec.track)
  if (options.output !== undefined) {
    await printWhole(io, options.output, listOf(releases))
    return
  }
  if (releases.length === 0) {
    await printNoReleases(client, io)
    return
  }
  const rows = [HISTORY_HEAD, ...releases.map((r) => historyRow(r, releases, systemClock.now()))]
  io.out(
    `${alignedRows(
      rows.map((r) => r.map(printableLine)),
      io.width?.(),
      { below: ['REVERTS', 'COMMIT'] },
    )}\n`,
  )
}

export async function showDiff(name: string, other: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const to = await releaseCalled(client, name)
  const from = other ?? to.spec.previous
  if (from === undefined) {
    io.err(shownLine(`release/${name} is the first of its track; give another one to compare with`))
    return
  }
  io.out(shownInWindow(io, differenceLines(await releaseCalled(client, from), to)))
}
