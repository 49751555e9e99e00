// Makes the files that a host needs to run an agent: two files of plain JavaScript and the unit. Only a release build needs the bundler; no agent does.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { basename, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { joinScript } from './join-script.ts'
import { agentUnit } from './unit.ts'
import { cliErrors } from '../cli-errors.ts'

export interface BundleOptions {
  /** Of the checkout. */
  readonly root: string
  readonly out: string
  /** Where it will be on the hosts. */
  readonly prefix: string
  /** The Node.js to ship with it; absent: the host has one. */
  readonly node?: string
}

export interface Bundled {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

const ENTRIES = { 'agent.mjs': 'agent-entry.ts', 'supervisor.mjs': 'supervisor-main.ts' } as const
export const AGENT_FOLDER = '/var/lib/kubenode'

export async function bundleAgent({ root, out, prefix, node }: BundleOptions): Promise<readonly Bundled[]> {
  const { rolldown } = await import('rolldown').catch((cause: unknown) => {
    throw new KubeNodeError(cliErrors.KN1050({ root }), { cause })
  })
  mkdirSync(out, { recursive: true })
  const made: Bundled[] = []
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const build = await rolldown({
      cwd: root,
      input: join(root, 'src/cli/agent', entry),
      platform: 'node',
      logLevel: 'silent',
    })
    const file = join(out, name)
    await build.write({ file, format: 'esm', codeSplitting: false, comments: false })
    await build.close()
    const bytes = readFileSync(file)
    made.push({ file, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  }
  const itsNode = join(prefix, 'bin/node')
  if (node !== undefined) {
    mkdirSync(join(out, 'bin'), { recursive: true })
    copyFileSync(node, join(out, 'bin/node'))
    mkdirSync(join(out, 'lib'), { recursive: true })
    for (const library of rareLibraries(node)) copyFileSync(library, join(out, 'lib', basename(library)))
  }
  const unit = agentUnit({ node: itsNode, folder: prefix, root: AGENT_FOLDER })
  writeFileSync(join(out, 'kubenode-agent.service'), unit)
  writeFileSync(join(out, 'join.sh'), joinScript(), { mode: 0o755 })
  return made
}

/** Small systems lack them; the C library itself is always the host's. */
const RARE = /^lib(atomic|stdc\+\+|gcc_s)\.so/

/** Paths of the libraries that Node.js needs: it must start on a host with nothing but a C library. */
function rareLibraries(node: string): readonly string[] {
  try {
    const said = execFileSync('ldd', [node], { encoding: 'utf8' })
    return [...said.matchAll(/^\s*(\S+) => (\/\S+)/gm)].flatMap(([, name, path]) =>
      name !== undefined && path !== undefined && RARE.test(name) ? [path] : [],
    )
  } catch {
    // Linked statically, or not for this system.
    return []
  }
}
