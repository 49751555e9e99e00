// Builds the files that a host needs to run an agent: two plain JavaScript files and the unit. Only a release build needs the bundler; agents do not.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { ELF_BYTES, parseElf } from '#lib/elf.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { kubernetesArch } from '#lib/kubernetes-arch.ts'
import { elfNeeds } from '#artifacts/oci/elf.ts'
import { joinScript } from './join-script.ts'
import { agentUnit } from './unit.ts'
import { bundleErrors } from './bundle-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface BundleOptions {
  /** Root of the checkout. */
  readonly root: string
  /** Absolute: the bundler resolves relative paths from the checkout. */
  readonly out: string
  /** Install path on the hosts. */
  readonly prefix: string
  /** The Node.js to ship; absent: the host has one. */
  readonly node?: string
}

export interface Bundled {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

const ENTRIES = { 'agent.mjs': 'agent-entry.ts', 'supervisor.mjs': 'supervisor-main.ts' } as const
/** An image has no bundler: this folder holds the files from its build. */
export const READY_FOLDER = 'agent'
export const AGENT_FOLDER = '/var/lib/kubenode'

export async function bundleAgent({ root, out, prefix, node }: BundleOptions): Promise<readonly Bundled[]> {
  mkdirSync(out, { recursive: true })
  const made: Bundled[] = []
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const file = join(out, name)
    const ready = join(root, READY_FOLDER, name)
    if (existsSync(ready)) copyFileSync(ready, file)
    else await bundleOne(root, entry, file)
    const bytes = readFileSync(file)
    made.push({ file, bytes: bytes.length, sha256: sha256Hex(bytes) })
  }
  const itsNode = join(prefix, 'bin/node')
  if (node !== undefined) {
    for (const folder of ['bin', 'lib']) mkdirSync(join(out, folder), { recursive: true })
    for (const { path, from } of filesOfNode(node)) copyFileSync(from, join(out, path))
    chmodSync(join(out, NODE_PATH), 0o755)
  }
  const unit = agentUnit({ node: itsNode, folder: prefix, root: AGENT_FOLDER })
  writeFileSync(join(out, 'kubenode-agent.service'), unit)
  writeFileSync(join(out, 'join.sh'), joinScript(), { mode: 0o755 })
  return made
}

async function bundleOne(root: string, entry: string, file: string): Promise<void> {
  const { rolldown } = await import('rolldown').catch((cause: unknown) => {
    throw new KubeNodeError(bundleErrors.KN1050({ root }), { cause })
  })
  const input = join(root, 'src/cli', entry)
  const build = await rolldown({ cwd: root, input, platform: 'node', logLevel: 'silent' })
  await build.write({ file, format: 'esm', codeSplitting: false, comments: false })
  await build.close()
}

const NODE_PATH = 'bin/node'

/** Node.js, and the libraries that small systems lack, by their path in a bundle. */
export const filesOfNode = (node: string): readonly { readonly path: string; readonly from: string }[] => [
  { path: NODE_PATH, from: node },
  ...rareLibraries(node).map((from) => ({ path: `lib/${basename(from)}`, from })),
]

/** Small systems lack these; the C library always comes from the host. */
const RARE = /^lib(atomic|stdc\+\+|gcc_s)\.so/

/** Library folder for the architecture of this build machine. */
const TRIPLE = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'
const LIBRARY_FOLDERS = ['', '/usr'].flatMap((top) =>
  [`lib/${TRIPLE}`, 'lib64', 'lib'].map((folder) => `${top}/${folder}`),
)

/** Paths of the libraries that Node.js needs: it must start on a host that has only a C library. */
function rareLibraries(node: string): readonly string[] {
  const program = readFileSync(node)
  // Libraries of this machine do not work on another architecture; join.sh lists what to install.
  if (parseElf(program.subarray(0, ELF_BYTES))?.arch !== kubernetesArch()) return []
  // Empty for a static binary, or for another system.
  const { libraries = [] } = elfNeeds(program) ?? {}
  return libraries
    .filter((name) => RARE.test(name))
    .flatMap((name) => LIBRARY_FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? [])
}

/** Paths below a folder, sorted. */
export const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
