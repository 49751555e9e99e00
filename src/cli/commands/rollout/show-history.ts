// Shows the commits that reached the fleet, a cluster or a set.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { findObject } from '#explain/objects/find-object.ts'
import {
  CLUSTER_HEAD,
  FLEET_HEAD,
  clusterHistoryRows,
  fleetHistoryRows,
  releasesOf,
} from '#explain/release/cluster-history.ts'
import { approvalsOn, releasesOn, sourcesOn } from '#explain/release/find-release.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { withKinds } from '../../fleet/by-name.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { type Named, named, namedOne } from '../../fleet/target.ts'
import { listOf, printWhole } from '../../get/whole.ts'
import { printNoReleases } from './no-releases.ts'
import { showLife } from './show-recorded.ts'
import type { FormOptions } from './show-release.ts'
import { rolloutHistory } from './show-rollout.ts'

/** On a narrow terminal, the longest first. */
const BELOW = ['COMMIT', 'GATES', 'APPROVED-BY', 'RESULT', 'RELEASE-IS', 'DIGEST']

/** A bare name is a cluster on the hub, and a set, a machine or a node elsewhere. */
async function withHistory(name: string, options: ServerOptions, io: Io): Promise<Named | undefined> {
  const search = { client: await connect(options, io), namespace: SYSTEM_NAMESPACE, command: 'history' }
  const [only] = await withKinds([{ name }], { ...search, nouns: ['cluster', 'set', 'machine', 'node'] })
  return only
}

export async function showFleetHistory(what: string | undefined, options: FormOptions, io: Io): Promise<void> {
  const asked = what === undefined ? undefined : namedOne([what])
  const isName = asked !== undefined && asked.type === undefined
  const target = isName ? await withHistory(asked.name, options, io) : what === undefined ? undefined : named([what])
  if (target?.type.kind === 'MachineComponentSet') return rolloutHistory(target.name, options, io)
  if (isName && target !== undefined && target.type.kind !== 'Cluster')
    return showLife([`${target.noun}/${target.name}`], options, io)
  if (target !== undefined && target.type.kind !== 'Cluster')
    throw new KubeNodeError(rolloutErrors.KN1325_history({ what: JSON.stringify(what) }))
  const client = await connect(options, io)
  const [releases, approvals, sources] = await Promise.all([
    releasesOn(client),
    approvalsOn(client),
    target === undefined ? sourcesOn(client) : [],
  ])
  const seen = { releases, approvals, sources }
  if (options.output !== undefined) {
    // What commits did to the hub is in the status of their sources.
    const ofHub = sources.filter(({ status }) => (status?.hub ?? []).length > 0)
    await printWhole(io, options.output, listOf([...releasesOf(target?.name, releases), ...ofHub]))
    return
  }
  const rows = target === undefined ? fleetHistoryRows(seen) : clusterHistoryRows(target.name, seen)
  if (rows.length === 0) {
    // Releases may name a deleted cluster. A name that neither knows is a typo.
    if (target !== undefined) {
      await findObject(client, target.type, target.name, target.noun)
    }
    await printNoReleases(client, io)
    return
  }
  const head = target === undefined ? FLEET_HEAD : CLUSTER_HEAD
  io.out(
    `${alignedRows(
      [head, ...rows].map((r) => r.map(printableLine)),
      io.width?.(),
      { below: BELOW },
    )}\n`,
  )
}
