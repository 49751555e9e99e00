// Turns this host into a node with one command: installs the agent, gives it the join bundle, and starts it. The agent itself joins, and may be interrupted
// at any moment; running the command again resumes.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { release } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { argv, execPath, geteuid, stderr } from 'node:process'
import { parseJoinBundle } from '#agent/join/bundle.ts'
import { identityFile, joinFile, nodeDir, type NodeDir } from '#agent/node-dir.ts'
import { refuseBelowFloor } from '#agent/preflight/floor.ts'
import { readGlibc } from '#agent/preflight/read.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { requireTrustedWay } from '#lib/trusted-way.ts'
import { copyWholeFile, writeWholeFile } from '#lib/whole-file.ts'
import { agentUnit } from './unit.ts'
import { agentErrors } from '#agent/agent-errors.ts'

export interface JoinHost {
  /** The join bundle as JSON, or that in base64. */
  readonly bundle: string
  /** The agent's folder. */
  readonly root: string
  /** Where the programs go. */
  readonly prefix: string
  /** The folder that holds agent.mjs and supervisor.mjs. */
  readonly from: string
  /** Where units go; undefined: the agent is only prepared. */
  readonly units: string | undefined
  readonly node: string
}

const UNIT = 'kubenode-agent.service'
const USAGE = 'usage: agent.mjs join BUNDLE|@FILE|- [--root DIR] [--prefix DIR] [--no-start]\n'

/** The text of a bundle, in any of the accepted forms. */
export function bundleText(given: string): string {
  const text =
    given === '-' ? readFileSync(0, 'utf8') : given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given
  const trimmed = text.trim()
  return trimmed.startsWith('{') ? trimmed : Buffer.from(trimmed, 'base64').toString('utf8')
}

/** Returns what was done, as text for users. */
export function prepareHost({ bundle, root, prefix, from, units, node }: JoinHost): string {
  refuseBelowFloor({ kernel: release(), glibc: readGlibc() })
  const dir = nodeDir(root, '/')
  const text = bundleText(bundle)
  const { machine, cluster } = parseJoinBundle(jsonOf(text))
  for (const folder of [root, prefix]) requireTrustedWay(folder)
  refuseAnother(dir, machine, cluster)
  mkdirSync(dir.path, { recursive: true, mode: 0o755 })
  if (resolve(from) !== resolve(prefix)) copyPrograms(from, prefix, node)
  // Complete or absent: the agent reads it as soon as it exists.
  writeWholeFile(joinFile(dir), text)
  if (units !== undefined) {
    mkdirSync(units, { recursive: true })
    writeFileSync(join(units, UNIT), agentUnit({ node: join(prefix, 'bin/node'), folder: prefix, root }))
  }
  return `this host joins ${cluster} as ${machine}`
}

/** The same machine may join again: its token expired too early, its certificate expired while the cluster was unreachable, or the cluster has moved. */
function refuseAnother(dir: NodeDir, machine: string, cluster: string): void {
  const path = identityFile(dir)
  if (!existsSync(path)) return
  const known = jsonOf(readFileSync(path, 'utf8'))
  if (isObject(known) && known['machine'] === machine && known['cluster'] === cluster) return
  const knownIdentity = isObject(known)
    ? `the identity of ${String(known['machine'])} of ${String(known['cluster'])}`
    : 'an identity'
  throw new KubeNodeError(agentErrors.KN8052({ machine, cluster, knownIdentity, state: dir.state }))
}

function copyPrograms(from: string, prefix: string, node: string): void {
  mkdirSync(join(prefix, 'bin'), { recursive: true })
  for (const name of ['agent.mjs', 'supervisor.mjs']) cpSync(join(from, name), join(prefix, name))
  if (existsSync(join(from, 'lib'))) cpSync(join(from, 'lib'), join(prefix, 'lib'), { recursive: true })
  // A running program cannot be overwritten, but another file can take its name.
  copyWholeFile(node, join(prefix, 'bin/node'), { mode: 0o755 })
}

const SYSTEMD_RUNS = '/run/systemd/system'

export async function joinMain(args: readonly string[]): Promise<number> {
  const option = (name: string, otherwise: string): string => {
    const at = args.indexOf(name)
    return at === -1 ? otherwise : (args[at + 1] ?? otherwise)
  }
  const [bundle] = args
  if (bundle === undefined || bundle.startsWith('--')) {
    stderr.write(USAGE)
    return 1
  }
  try {
    if (geteuid?.() !== 0) throw new KubeNodeError(agentErrors.KN8053())
    const starts = existsSync(SYSTEMD_RUNS) && !args.includes('--no-start')
    const said = prepareHost({
      bundle,
      root: option('--root', '/var/lib/kubenode'),
      prefix: option('--prefix', '/opt/kubenode'),
      from: dirname(resolve(argv[1] ?? '.')),
      units: existsSync(SYSTEMD_RUNS) ? '/etc/systemd/system' : undefined,
      node: execPath,
    })
    if (starts) {
      for (const command of [['daemon-reload'], ['enable', UNIT], ['restart', UNIT]]) execFileSync('systemctl', command)
    }
    stderr.write(`${said}${starts ? `; see journalctl -u ${UNIT}` : ''}\n`)
    return 0
  } catch (e) {
    stderr.write(`${messageOf(e)}\n`)
    return 1
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
