// Which cage this machine supports, strongest first. Missing features are found once by trying, are part of every result, and are always reported.
import { spawn } from 'node:child_process'
import { realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { modulePath, releaseRoot } from '#lib/release-root.ts'
import { BUNDLE_FOLDER, BUNDLE_MAIN, bundleIn, type Bundle } from './bundle.ts'
import { CAGE_LIMITS, INSIDE_BUILT, INSIDE_RELEASE, ROOT_SCRIPT } from './cage-script.ts'
import { limited } from '../limited.ts'
import { syncErrors } from '../sync-errors.ts'

export type CageLayer =
  | 'namespaces'
  | 'own-root'
  | 'own-uid'
  | 'pod'
  | 'rlimits'
  | 'permission'
  | 'no-environment'
  | 'memory-loader'

/** On every level: files come from memory, the program's environment stays outside, and Node itself refuses files, processes and network. */
const BASE: readonly CageLayer[] = ['memory-loader', 'no-environment', 'permission']

export interface CageLevel {
  readonly name: 'Root' | 'UserNamespace' | 'LimitsOnly' | 'Pod'
  readonly layers: readonly CageLayer[]
}

export const CAGE_LEVELS: readonly CageLevel[] = [
  { name: 'Root', layers: [...BASE, 'rlimits', 'namespaces', 'own-root', 'own-uid'] },
  { name: 'UserNamespace', layers: [...BASE, 'rlimits', 'namespaces', 'own-root', 'own-uid'] },
  { name: 'LimitsOnly', layers: [...BASE, 'rlimits'] },
]

/** Inside the pod of a render Job: the pod provides namespaces, limits and network isolation. Used only there. */
export const POD_LEVEL: CageLevel = { name: 'Pod', layers: [...BASE, 'pod'] }

/** Whether only Node itself separates the code from the machine. */
const isWeakCage = (layers: readonly CageLayer[]): boolean => !layers.includes('namespaces') && !layers.includes('pod')

export type WeakCage = 'allow' | 'refuse'

export interface CageCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  /** User and group of the process, without further groups; absent: those of the program. */
  readonly uid?: number
  /** URL of a file at the root of the release, from inside the cage. */
  readonly release: string
  /** URLs of built files inside, by module name. */
  readonly built: Readonly<Record<string, string>>
  /** Removes what was created on disk for this run. */
  readonly cleanUp: () => void
}

/** The running release: the folder with src, node_modules and package.json. */
const RELEASE_ROOT = releaseRoot()
const ENTRY = relative(RELEASE_ROOT, modulePath('src/sync/render/inside/main.ts'))

/** The largest known fleet uses a fifth of this heap. */
const MAX_HEAP_MB = 1_024
/** Uids that no system assigns, so that limits per user cover only one render. */
const FIRST_UID = 1_879_000_000
const UIDS = 100_000
const strangerUid = (): number => FIRST_UID + (process.pid % UIDS)

/** No render takes a tenth of this. */
const LONGEST_RENDER_MS = 3_600_000

/** The program's environment sets the temporary folder, so it is read every time. */
const renderFolders = () => ({ parent: tmpdir(), prefix: 'kubenode-render-', maxAgeMs: LONGEST_RENDER_MS })

/** Parts of Node that its permissions do not cover, if this Node has them. */
const MISSING_PARTS = ['sqlite', 'ffi', 'webstorage', 'websocket', 'global-navigator']
  .filter((part) => process.allowedNodeEnvironmentFlags.has(`--experimental-${part}`))
  .map((part) => `--no-experimental-${part}`)

/** No V8 flags except the heap size: with any other, Node compiles its own modules at each start instead of loading them compiled. */
const NODE_FLAGS: readonly string[] = [
  '--permission',
  '--no-addons',
  '--no-warnings',
  // Memory is cleared, so that no earlier content is readable.
  '--zero-fill-buffers',
  ...['--disable-sigusr1'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag)),
  ...MISSING_PARTS,
]

export class Cage {
  readonly level: CageLevel
  readonly #bundle: Bundle | undefined
  readonly #node = realpathSync(process.execPath)

  constructor(level: CageLevel, bundle?: Bundle) {
    this.level = level
    this.#bundle = bundle
  }

  /** The user that the code runs as, if it is not the program's own. */
  get user(): number | undefined {
    return process.getuid?.() === 0 ? strangerUid() : undefined
  }

  get isWeak(): boolean {
    return isWeakCage(this.level.layers)
  }

  command(cpuSeconds: number): CageCommand {
    const node = [...NODE_FLAGS, `--max-old-space-size=${MAX_HEAP_MB}`]
    const cwd = makeOwnedFolder(renderFolders())
    const cleanUp = () => rmSync(cwd, { recursive: true, force: true })
    const cpu = String(cpuSeconds)
    if (this.level.name === 'LimitsOnly' || this.level.name === 'Pod') {
      const { program, release, built } = filesOf(RELEASE_ROOT, this.#bundle, this.#bundle?.folder)
      const args = [...node, ...program]
      const rest = { cwd, cleanUp, release, built, ...defined({ uid: this.user }) }
      // A pod has its own limits.
      return this.level.name === 'Pod'
        ? { file: this.#node, args, ...rest }
        : { ...limited({ ...CAGE_LIMITS, cpuSeconds: cpu }, [this.#node, ...args]), ...rest }
    }
    const isRoot = this.level.name === 'Root'
    const enter = isRoot ? String(strangerUid()) : 'userns'
    const { program, release, built } = filesOf(INSIDE_RELEASE, this.#bundle, `${INSIDE_RELEASE}/${INSIDE_BUILT}`)
    const args = [
      ...(isRoot ? [] : ['--user', '--map-root-user']),
      ...NAMESPACES,
      '--',
      '/bin/sh',
      '-c',
      ROOT_SCRIPT,
      'cage',
      cwd,
      RELEASE_ROOT,
      this.#bundle?.folder ?? '',
      this.#node,
      enter,
      cpu,
      ...node,
      ...program,
    ]
    return { file: 'unshare', args, cwd, cleanUp, release, built }
  }
}

const NAMESPACES = [
  '--mount',
  '--net',
  '--pid',
  '--ipc',
  '--uts',
  '--fork',
  '--kill-child',
  '--propagation',
  'private',
] as const

/** The cage's program, what it may read, and what it finds, with the release and the built files at these paths. */
function filesOf(root: string, bundle: Bundle | undefined, builtAt: string | undefined) {
  const readable = bundle === undefined ? [`${root}/src/*`, `${root}/node_modules/*`] : [`${builtAt}/*`]
  const entry = bundle === undefined ? join(root, ENTRY) : `${builtAt}/${BUNDLE_MAIN}`
  const built = Object.entries(bundle?.names ?? {}).map(([name, file]) => [name, fileUrl(`${builtAt}/${file}`)])
  return {
    program: [...[...readable, `${root}/package.json`].map((path) => `--allow-fs-read=${path}`), entry],
    release: fileUrl(`${root}/package.json`),
    built: Object.fromEntries(built) as Readonly<Record<string, string>>,
  }
}

const fileUrl = (path: string): string => `file://${encodeURI(path)}`

/** A built program has these files next to it; a program that runs from sources has none. */
export const ownBundle = (): Bundle | undefined => bundleIn(join(import.meta.dirname, BUNDLE_FOLDER))

/** On an idle machine a namespace takes a tenth of a second. If the program gave up early on a busy machine, it would use the weaker cage until it ends. */
const PROBE_DEADLINE_MS = 60_000

/** Tries the levels until one works here. Every program that renders starts with this, so it also removes what killed ones left behind. */
export async function findCage(
  weakCage: WeakCage,
  levels: readonly CageLevel[] = CAGE_LEVELS,
  bundle = ownBundle(),
): Promise<Cage> {
  sweepOwnedFolders(renderFolders())
  for (const level of levels) {
    const isRoot = process.getuid?.() === 0
    if ((level.name === 'Root') !== isRoot && level.name !== 'LimitsOnly') continue
    const cage = new Cage(level, bundle)
    if (cage.isWeak && weakCage === 'refuse') break
    if (await works(cage)) return cage
    // Another user may not be able to reach a build's folder.
    const unbuilt = new Cage(level)
    if (bundle !== undefined && (await works(unbuilt))) return unbuilt
    if (cage.isWeak)
      throw new KubeNodeError(syncErrors.KN7118({ uid: cage.user ?? 'of this process', release: RELEASE_ROOT }))
  }
  throw new KubeNodeError(syncErrors.KN7110())
}

/** Reads the entry and a file of the release as a render does, and nothing else. */
const probe = (release: string, entry: string): string =>
  `for (const file of ${JSON.stringify([new URL(release).pathname, entry])}) require('node:fs').readFileSync(decodeURI(file)); console.log('caged')`

/** The same command as a render, with nothing to render. */
async function works(cage: Cage): Promise<boolean> {
  const { file, args, cwd, cleanUp, release, ...as } = cage.command(5)
  try {
    return await new Promise<boolean>((resolve) => {
      const child = spawn(file, [...args.slice(0, -1), '-e', probe(release, args.at(-1) ?? '')], {
        cwd,
        ...userOf(as),
        env: CAGE_ENV,
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: PROBE_DEADLINE_MS,
        killSignal: 'SIGKILL',
      })
      let output = ''
      child.stdout.setEncoding('utf8')
      child.stdout.on('data', (text: string) => (output += text))
      child.once('error', () => resolve(false))
      child.once('close', (code) => resolve(code === 0 && output.trim() === 'caged'))
    })
  } finally {
    cleanUp()
  }
}

/** For `spawn`: with its own uid, a process also loses all groups. */
export const userOf = ({ uid }: Pick<CageCommand, 'uid'>): { readonly uid?: number; readonly gid?: number } =>
  uid === undefined ? {} : { uid, gid: uid }

/** For the shell that builds the root; Node's own environment is emptied before fleet code runs. */
export const CAGE_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}
