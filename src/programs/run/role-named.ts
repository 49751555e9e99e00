// A role as declared in `all.ts`: its identity's rights, its loops, and whether it leads.
import { controllerPartName } from '#runtime/supervision.ts'
import { type RoleName, ROLES } from '../all.ts'
import type { RolesConfig } from '../roles/config.ts'
import type { Role } from './role.ts'
import { defined } from '#lib/defined.ts'

/** `identity` is unique to this process. */
export async function roleNamed(name: RoleName, config: RolesConfig, identity: string): Promise<Role> {
  const { lead, needs, loops, load } = ROLES[name]
  const role = await load(config, identity)
  const listed: ReadonlySet<string> = new Set(loops.flatMap((loop) => [loop, controllerPartName(loop)]))
  return {
    name,
    needs,
    ...(lead === 'every replica' && { isEverywhere: true }),
    ...defined({ standing: role.standing, leaseAnnotations: role.leaseAnnotations }),
    async setup(context) {
      const parts = await role.setup(context)
      // Controllers are built from the list; the other roles build their own loops.
      const stray = name === 'controllers' ? undefined : parts.find((part) => !listed.has(part.name))
      if (stray !== undefined)
        throw new Error(`${stray.name} is no loop of role ${name}: add it to src/programs/all.ts`)
      return parts
    },
  }
}
