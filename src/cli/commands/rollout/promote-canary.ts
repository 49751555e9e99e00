// Promotes a canary that passed: proposes the edit that puts its versions into the sets of its machines.
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { changeText, promotion } from '#explain/rollout/commit.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { listAll } from '#kube/list-all.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printable } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { CopyOptions } from '#console/repository/propose.ts'
import { proposeVersions } from '#console/repository/propose-versions.ts'
import { canaryNamed, setsOfMachines } from '#explain/rollout/read.ts'

export interface PromoteOptions extends ServerOptions, CopyOptions {}

export async function promoteCanary(name: string, options: PromoteOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const found = await canaryNamed(client, name)
  const sets = await setsOfMachines(client, found, await listAll(client, machineComponentSet))
  const changes = promotion(found, sets)
  if (!(await proposeVersions(client, { sets, changes }, options, io))) {
    if (options.write === true) throw new KubeNodeError(rolloutErrors.KN1384({ what: `canary/${name}` }))
    for (const change of changes) io.out(printable(changeText(change)))
    io.err('write these components where the fleet declares the sets, and commit\n')
  }
  io.err('machines that already run these versions count as updated\n')
}
