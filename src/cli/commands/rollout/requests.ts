// `kubenode release retry | promote | abort`: a user's request on a Release, as a hold with a reason and an end. A bad option is refused before any request.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { placeHold } from '#permits/holds/placing.ts'
import type { Io } from '#lib/terminal/io.ts'
import { holdFor } from './holds.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { authorOf } from '../../current-person.ts'
import { releaseCalled } from '#explain/release/find-release.ts'
import { canBeRetried, continuingLines, failedGates, isOver, soakingStage, stateText } from '#explain/release/status.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

export interface RequestOptions extends ServerOptions {
  readonly reason: string
  readonly for: string
}

interface Request {
  readonly effect: HoldEffect
  readonly to?: string
}

interface Asked {
  readonly name: string
  readonly release: Release
  readonly place: (request: Request) => Promise<OperationalHold>
}

async function asked(word: string, effect: HoldEffect, options: RequestOptions, io: Io): Promise<Asked> {
  const requestFor = (name: string) => {
    const target = { kind: 'Release', namespace: SYSTEM_NAMESPACE, name } as const
    return { target, reason: options.reason, for: options.for } as const
  }
  holdFor({ ...requestFor(word), effect, author: 'unknown' }, systemClock.now())
  const client: KubeClient = await connect(options, io)
  const release = await releaseCalled(client, word)
  const { name = '' } = release.metadata
  const common = requestFor(name)
  const place = async (request: Request): Promise<OperationalHold> =>
    placeHold(client, holdFor({ ...common, ...request, author: await authorOf(client, io) }, systemClock.now()))
  return { name, release, place }
}

export async function retryRelease(word: string, options: RequestOptions, io: Io): Promise<void> {
  const { name, release, place } = await asked(word, 'Retry', options, io)
  const { status = {} } = release
  if (!canBeRetried(status))
    throw new KubeNodeError(rolloutErrors.KN1374_retry({ what: `release/${name}`, phase: status.phase ?? 'Pending' }))
  const hold = await place({ effect: 'Retry' })
  const clusters = (status.clusters ?? []).filter((c) => c.phase === 'Failed').map((c) => c.name)
  const failed = [...clusters, ...failedGates(status.stages ?? [])]
  const what =
    failed.length > 0 ? `${failed.join(', ')} of release/${name}` : `release/${name}, whose objects failed before`
  io.out(shownInWindow(io, [`retrying ${what} (operationalhold/${hold.metadata.name})`]))
  io.err(shownLine(`kubenode release status ${name}`))
  // Only the cluster can retry a revision. A retry here would fail again at once.
  if (clusters.length > 0)
    io.err('a set that is Blocked is retried in its cluster: kubenode rollout retry NAME --reason WHY\n')
}

/** Only a soak can be cut short. Everything else a stage waits for has its own command or cause. */
export async function promoteRelease(word: string, options: RequestOptions, io: Io): Promise<void> {
  const { name, release, place } = await asked(word, 'Promote', options, io)
  const soaking = soakingStage(release)
  if (soaking === undefined) throw new KubeNodeError(rolloutErrors.KN1374_soak({ name, why: stateText(release) }))
  const hold = await place({ effect: 'Promote', to: soaking.name })
  const soak = soaking.soakUntil === undefined ? '' : `, which would last until ${soaking.soakUntil}`
  io.out(
    shownLine(
      `ending the soak of stage ${soaking.name}${soak} (operationalhold/${hold.metadata.name}); gates still apply`,
    ),
  )
  io.err(shownLine(`kubenode release status ${name}`))
}

export async function abortRelease(word: string, options: RequestOptions, io: Io): Promise<void> {
  const { name, release, place } = await asked(word, 'Pause', options, io)
  const { spec, status = {} } = release
  if (isOver(status)) throw new KubeNodeError(rolloutErrors.KN1374_abort({ name, phase: status.phase ?? 'Pending' }))
  const hold = await place({ effect: 'Pause' })
  io.out(
    shownInWindow(io, [
      `release/${name} goes no further until ${hold.spec.until} (operationalhold/${hold.metadata.name})`,
    ]),
  )
  for (const line of continuingLines(status)) io.err(shownLine(`warning: ${line}`))
  io.err(
    shownLine(`to take it back: git revert ${shortCommit(spec.commit)}; to continue: kubenode resume release/${name}`),
  )
}
