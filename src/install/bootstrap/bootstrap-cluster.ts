// Installs KubeNode in a cluster and makes it follow the user's repository.
import { resolve } from 'node:path'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { Io } from '#lib/terminal/io.ts'
import { chosenValues } from '../chosen-values.ts'
import type { InstallContext } from '../context.ts'
import { initErrors } from '../init/init-errors.ts'
import { installCluster } from '../install-cluster.ts'
import type { InstallOptions } from '../install-options.ts'
import {
  follow,
  refuseForeignTrust,
  refuseOtherSource,
  requireRights,
  requireUsable,
  storedCredentials,
  untilApplied,
} from './bootstrap.ts'
import { readFleet } from './fleet-at.ts'
import { GIT_VARIABLES } from './git-variables.ts'
import { GIT_SECRET, type GitCredentials, SOURCE, secretOf } from './objects.ts'

export interface BootstrapOptions extends Omit<InstallOptions, 'isUpgrade'> {
  readonly git: string
  readonly branch: string
  readonly path: string
  readonly username?: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly sshKey?: string
  readonly knownHosts?: string
  readonly install: boolean
  readonly weakCage: 'allow' | 'refuse'
}

/** Git servers accept any user with an access token. */
const ANY_USER = 'kubenode'

export async function bootstrapCluster(
  options: BootstrapOptions,
  io: Io,
  reach: () => Promise<InstallContext>,
): Promise<void> {
  const { git: url, branch, path } = options
  const wanted = { url, branch, path }
  const now = Date.now()
  requireUsable(url)
  const given = givenCredentials(options, io)
  const context = await reach()
  await requireRights(context, url)
  await refuseOtherSource(context, wanted)
  const credentials = secretOf(given) === undefined ? await storedCredentials(context) : given
  const fleet = await readFleet(wanted, { credentials, weakCage: options.weakCage, env: io.env, now })
  const { called, objects, trust } = fleet
  io.out(shownLine(`commit ${called} of ${url} declares ${objects} objects`))
  // Only to compare them: what they ask of the user is written where they are installed.
  const values = await chosenValues(options, { ...io, err: () => undefined }, context)
  const roles = values?.['roles']
  if (options.install && Array.isArray(roles) && !roles.includes('hub'))
    throw new KubeNodeError(initErrors.KN1433_roles({ url, roles: roles.join(', ') }))
  refuseForeignTrust(called, values?.['trust'], trust, now)
  if (options.install) {
    const defaults = trust === undefined ? {} : { trust }
    const isDone = await installCluster({ ...options, isUpgrade: false, defaults, isFollowing: true }, io, reach)
    if (!isDone && options.dryRun === undefined) return
  }
  const hasSecret = secretOf(credentials) !== undefined
  const made = [
    ...(hasSecret ? [`Secret ${GIT_SECRET.namespace}/${GIT_SECRET.name}`] : []),
    `FleetSource ${SOURCE.namespace}/${SOURCE.name}`,
  ]
  if (options.dryRun !== undefined) {
    for (const what of made) io.out(shownLine(`would apply ${what}`))
    return
  }
  await follow(context, wanted, credentials)
  if (url.startsWith('file:')) io.err(`note: sync reads ${url} only when it runs with --local-repository\n`)
  if (options.wait) await untilApplied(context, fleet)
  for (const line of [
    options.wait ? `the cluster follows ${url}; commit ${called} is applied` : `the cluster follows ${url}`,
    'to change it: commit and push',
    `to see what is applied: kubenode describe fleetsource ${SOURCE.name}`,
    'to add a host: raise the number of nodes in the fleet, then kubenode machine join-command NAME',
  ])
    io.out(shownLine(line))
}

function givenCredentials({ username, tokenFile, ...flags }: BootstrapOptions, io: Io): GitCredentials {
  const read = (flag: string, file: string): string => {
    try {
      return readBoundedText(resolve(io.cwd, file))
    } catch (cause) {
      throw new KubeNodeError(initErrors.KN1002_value({ flag, value: file, why: systemTrouble(cause) }), { cause })
    }
  }
  const fromEnvironment = (name: string): string | undefined => (io.env[name] === '' ? undefined : io.env[name])
  const token =
    tokenFile === undefined ? fromEnvironment(GIT_VARIABLES.token) : read('--token-file', tokenFile).trimEnd()
  const file = (flag: string, name: 'ca' | 'sshKey' | 'knownHosts') => {
    const given = flags[name] ?? fromEnvironment(GIT_VARIABLES[name])
    return given === undefined ? {} : { [name]: read(flag, given) }
  }
  const user = username ?? fromEnvironment(GIT_VARIABLES.username)
  if (user !== undefined && token === undefined)
    throw new KubeNodeError(
      initErrors.KN1002_value({
        flag: '--username',
        value: user,
        why: 'there is no token; name its file with --token-file',
      }),
    )
  return {
    ...(token !== undefined && { username: user ?? ANY_USER, password: token }),
    ...file('--ca', 'ca'),
    ...file('--ssh-key', 'sshKey'),
    ...file('--known-hosts', 'knownHosts'),
  }
}
