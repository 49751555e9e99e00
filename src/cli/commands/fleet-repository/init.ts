// `kubenode init DIR`: creates a user's own fleet repository.
import { relative } from 'node:path'
import type { Command } from 'commander'
import { defined } from '#lib/defined.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'

interface InitFlags {
  readonly name?: string
  readonly cluster: string
  readonly key?: string
  readonly force?: true
}

export function register(program: Command, io: Io): void {
  program
    .command('init')
    .description('make a git repository for a fleet of your own: one cluster, one pool, rules, signing keys, checks')
    .argument('<dir>', 'a new or empty folder')
    .option('--name <name>', 'name of the repository; that of the folder when left out')
    .option('--cluster <name>', 'name of the cluster', 'prod')
    .option('--key <file>', 'private signing key, outside of the repository; made if it does not exist')
    .option('--force', 'use a folder that is not empty: add the files that are missing, and change none')
    .action((dir: string, options: InitFlags) => init(dir, options, io))
}

/** The commands to start it on this machine; the README continues from there. */
const NEXT = [
  'npm ci && git add -A && git commit -m "fleet: start"',
  'npx kubenode local up     # this fleet on this machine; a commit rolls out there',
  './check.sh                # what CI checks',
] as const

async function init(dir: string, { name, cluster, key, force }: InitFlags, io: Io): Promise<void> {
  const [{ initFleet }, { packRelease }] = await Promise.all([
    import('#install/init/init.ts'),
    import('#install/package/pack.ts'),
  ])
  const made = await initFleet(
    { dir, cluster, force: force === true, ...defined({ name, key }) },
    { cwd: io.cwd, env: io.env, now: Date.now(), pack: packRelease },
  )
  const { folder, keyFile, keyId, isNewKey, kept } = made
  const print = (line: string) => io.out(shownLine(line))
  print(`made the fleet repository ${folder}`)
  for (const path of kept) print(`kept ${path}, which was there`)
  print(
    `the private signing key ${keyId} is ${isNewKey ? '' : 'still '}in ${keyFile}, outside of the repository: keep a copy in a safe place`,
  )
  print('next:')
  const at = relative(io.cwd, folder)
  if (at !== '') print(`  cd ${/^[\w./-]+$/.test(at) ? at : JSON.stringify(at)}`)
  for (const line of NEXT) print(`  ${line}`)
  print('README.md there has the rest')
}
