// `kubenode rollback`: finds the commit that takes a set back by trying reverts. With --now it pins the set until that commit arrives.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printable, shownLine } from '#lib/printable.ts'
import { quoted } from '#lib/shell-word.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { SetChange } from '#explain/rollout/commit.ts'
import { placeWith } from './place.ts'
import type { CopyOptions } from '#console/repository/propose.ts'
import { setAndRevisions } from '#explain/rollout/read.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'

export interface RollbackOptions extends ServerOptions, CopyOptions {
  readonly to?: string
  readonly now?: boolean
  readonly reason?: string
  readonly for: string
  readonly cluster?: string
}

export async function rollback(name: string, options: RollbackOptions, io: Io): Promise<void> {
  const [{ rollbackChange }, { revisionCalled, warningsOf }] = await Promise.all([
    import('#explain/rollout/commit.ts'),
    import('#explain/rollout/revisions.ts'),
  ])
  const { reason, now: isNow = false } = options
  if (isNow && reason === undefined) throw new KubeNodeError(rolloutErrors.KN1002_reason())
  // Report a bad argument before any request. Only --now needs a reason.
  const [{ holdFor }, target] = [await import('./holds.ts'), { kind: 'MachineComponentSet', name } as const]
  holdFor(
    { target, effect: 'Pin', to: name, reason: reason ?? 'unknown', for: options.for, author: 'unknown' },
    systemClock.now(),
  )
  const client = await connect(options, io)
  const { set, revisions } = await setAndRevisions(client, name)
  const to = revisionCalled(set, revisions, options.to)
  for (const line of warningsOf(set, to)) io.err(shownLine(line))
  const change = rollbackChange(set, to)
  if (change.changes.length === 0) io.err(`set/${name} declares revision ${to.number} already\n`)
  else await printWayBack({ client, set, change, revision: to.number }, options, io)
  if (!isNow || reason === undefined) return
  const hold = await placeWith(client, io, { target, effect: 'Pin', to: to.name, reason, for: options.for })
  io.err(shownLine(`set/${name} goes to revision ${to.number} now, until ${hold.spec.until}; commit before that`))
}

interface WayBackAsked {
  readonly client: KubeClient
  readonly set: MachineComponentSet
  readonly change: SetChange
  readonly revision: number
}

/** Tested reverts that render exactly the target; else a patch that does; else the components to write. */
async function printWayBack(
  { client, set, change, revision }: WayBackAsked,
  options: RollbackOptions,
  io: Io,
): Promise<void> {
  const { repo = '.', path, cluster, weakCage, write = false } = options
  const [{ prepareWayBack }, { wayBackLines, whyNotSearched }] = await Promise.all([
    import('#forecast/way-back/prepare-way-back.ts'),
    import('#forecast/way-back/way-back-text.ts'),
  ])
  const { resolve } = await import('node:path')
  const env = { PATH: io.env['PATH'] ?? '', ...defined({ HOME: io.env['HOME'] }) }
  const request = { set: change.set, now: set.spec.components, wanted: change.components, path, cluster, env, weakCage }
  io.err('searching for the commits to revert: rendering commits and trying reverts in a copy of the repository\n')
  const folder = resolve(io.cwd, repo)
  const found = await prepareWayBack({ ...request, folder }).catch((error: unknown) => ({
    error: whyNotSearched(error, folder),
  }))
  const isFound = 'way' in found && (found.way.kind === 'Reverts' || found.way.kind === 'Patch')
  const isThere = 'way' in found && found.way.kind === 'Declared'
  // No revert leads back, but the fleet's declaration of the versions can still be edited.
  if (!isFound && !isThere) {
    const { proposeVersions } = await import('#console/repository/propose-versions.ts')
    if (await proposeVersions(client, { sets: [set], changes: [change] }, options, io)) return
    if (write) throw new KubeNodeError(rolloutErrors.KN1384({ what: `set/${change.set}` }))
  }
  if (write && 'way' in found && isFound) {
    const { applyWayBack } = await import('#forecast/way-back/apply-way-back.ts')
    io.err(shownLine(await applyWayBack(found.way, folder, env)))
    io.out(shownLine(`git commit -m ${quoted(`${change.set}: back to revision ${revision}`)}`))
    return
  }
  const { out, err } = wayBackLines(change, revision, found)
  // Git reads the patch, so print it unchanged.
  io.out('way' in found && found.way.kind === 'Patch' ? out : printable(out))
  io.err(printable(err))
}
