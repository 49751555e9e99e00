// `kubenode bootstrap --git URL`: installs KubeNode in a cluster and makes it follow a fleet repository.
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { GitCredentials } from '#install/bootstrap/objects.ts'
import { initErrors } from '#install/init/init-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { weakCageOption } from '../weak-cage.ts'
import { withServer } from './inspect.ts'
import { chosenValues, contextOf, install, withSettings, withTimeout, type InstallFlags } from './install.ts'

interface BootstrapFlags extends InstallFlags {
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

/** A git server takes any user beside an access token. */
const ANY_USER = 'kubenode'

/** The token itself, where an option names its file: pipelines have it in a variable, and a list of processes shows no token. */
export const GIT_VARIABLES = {
  username: 'KUBENODE_GIT_USERNAME',
  token: 'KUBENODE_GIT_TOKEN',
  ca: 'KUBENODE_GIT_CA',
  sshKey: 'KUBENODE_GIT_SSH_KEY',
  knownHosts: 'KUBENODE_GIT_KNOWN_HOSTS',
} as const

export function register(program: Command, io: Io): void {
  withTimeout(withSettings(withServer(program.command('bootstrap'))), '5m')
    .description('install KubeNode in a cluster and make it follow a git repository; running it again changes nothing')
    .requiredOption('--git <url>', 'the repository: https, ssh or file')
    .option('--branch <name>', 'the branch to follow', 'main')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option('--username <name>', `user of the git server; ${GIT_VARIABLES.username} when left out`)
    .option('--token-file <file>', `file with the access token; ${GIT_VARIABLES.token} when left out`)
    .option('--ca <file>', `authority of the git server, as PEM; ${GIT_VARIABLES.ca} names the file when left out`)
    .option('--ssh-key <file>', `private key for ssh; ${GIT_VARIABLES.sshKey} names the file when left out`)
    .option('--known-hosts <file>', `host keys for ssh; ${GIT_VARIABLES.knownHosts} names the file when left out`)
    .option('--no-install', 'the programs of KubeNode are there already')
    .option('--dry-run', 'show what would be done and write nothing')
    .option('--no-wait', 'do not wait until the first commit is applied')
    .option('--ignore <checks>', 'names of checks that may fail, separated by commas')
    .option('-y, --yes', 'do not ask')
    .addOption(weakCageOption())
    .action((options: BootstrapFlags) => bootstrap(options, io))
}

async function bootstrap(options: BootstrapFlags, io: Io): Promise<void> {
  const [steps, { readFleet }, { secretOf, SOURCE, GIT_SECRET }] = await Promise.all([
    import('#install/bootstrap/bootstrap.ts'),
    import('#install/bootstrap/fleet-at.ts'),
    import('#install/bootstrap/objects.ts'),
  ])
  const { git: url, branch, path } = options
  const wanted = { url, branch, path }
  const now = Date.now()
  steps.requireUsable(url)
  const given = await givenCredentials(options, io)
  const context = await contextOf(options, io)
  await steps.requireRights(context, url)
  await steps.refuseOtherSource(context, wanted)
  const credentials = secretOf(given) === undefined ? await steps.storedCredentials(context) : given
  const fleet = await readFleet(wanted, { credentials, weakCage: options.weakCage, env: io.env, now })
  const { called, objects, trust } = fleet
  io.out(shownLine(`commit ${called} of ${url} declares ${objects} objects`))
  const values = await chosenValues(options, io, context)
  const roles = values?.['roles']
  if (options.install && Array.isArray(roles) && !roles.includes('hub'))
    throw new KubeNodeError(initErrors.KN1527({ url, roles: roles.join(', ') }))
  steps.refuseForeignTrust(called, values?.['trust'], trust, now)
  if (options.install) {
    const defaults = trust === undefined ? {} : { trust }
    const isDone = await install({ ...options, defaults, isFollowing: true }, false, io)
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
  await steps.follow(context, wanted, credentials)
  if (url.startsWith('file:')) io.err(`note: sync reads ${url} only when it runs with --local-repository\n`)
  if (options.wait) await steps.untilApplied(context, fleet)
  for (const line of [
    options.wait ? `the cluster follows ${url}; commit ${called} is applied` : `the cluster follows ${url}`,
    'to change it: commit and push',
    `to see what is applied: kubenode describe fleetsource ${SOURCE.name}`,
    'to add a host: raise the number of nodes in the fleet, then kubenode machine join-command NAME',
  ])
    io.out(shownLine(line))
}

async function givenCredentials({ username, tokenFile, ...flags }: BootstrapFlags, io: Io): Promise<GitCredentials> {
  const [{ readBoundedText }, { resolve }] = await Promise.all([import('#lib/bounded-file.ts'), import('node:path')])
  const read = (flag: string, file: string): string => {
    try {
      return readBoundedText(resolve(io.cwd, file))
    } catch (cause) {
      throw new KubeNodeError(initErrors.KN1504({ flag, value: file, why: systemTrouble(cause) }), { cause })
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
      initErrors.KN1504({ flag: '--username', value: user, why: 'there is no token; name its file with --token-file' }),
    )
  return {
    ...(token !== undefined && { username: user ?? ANY_USER, password: token }),
    ...file('--ca', 'ca'),
    ...file('--ssh-key', 'sshKey'),
    ...file('--known-hosts', 'knownHosts'),
  }
}
