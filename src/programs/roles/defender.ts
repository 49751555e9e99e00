// The defender role: every disruption needs a permit, and the webhook rejects any without one.
import { releaseManifests } from '#delivery/release-manifests.ts'
import { defenderModule } from '#defender/role.ts'
import { labelled } from '#install/release.ts'
import { policiesIn } from '#kube/admission-policies.ts'
import { defined } from '#lib/defined.ts'
import { VERSION } from '#lib/program-version.ts'
import { partsOf } from '#runtime/module.ts'
import type { RoleSetup } from '../run/role.ts'
import type { RolesConfig } from './config.ts'

export function defenderRole({ cluster, isHub, webhook }: RolesConfig, identity: string): RoleSetup {
  const policies = policiesIn(releaseManifests().rest).map((o) => labelled(o, VERSION))
  const role = defenderModule({
    cluster,
    identity,
    withClusters: isHub,
    policies,
    ...defined({ webhook }),
  })
  return {
    ...defined({ standing: role.standing }),
    setup: async (context) => partsOf(await role.setup(context), context.supervision),
  }
}
