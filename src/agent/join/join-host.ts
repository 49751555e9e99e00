// Turns this host into a node with one command: installs the agent, hands it the join bundle, and starts it. The agent does the joining and may be
// interrupted at any moment; running the command again resumes.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { release } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { argv, env, execPath, geteuid, stderr, stdout } from 'node:process'
import { gunzipSync } from 'node:zlib'
import { parseJoinBundle } from './bundle.ts'
import type { HostProxy } from './host-proxy.ts'
import { identityFile, joinFile, nodeDir, type NodeDir } from '../node-dir.ts'
import { refuseBelowFloor } from '../preflight/floor.ts'
import { readGlibc } from '../preflight/read.ts'
import { readBoundedText, STANDARD_INPUT } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shownLine } from '#lib/printable.ts'
import { requireTrustedWay } from '#lib/trusted-way.ts'
import { copyWholeFile, writeWholeFile } from '#lib/whole-file.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { awaitJoined } from './await-joined.ts'
import { hostArguments } from './host-arguments.ts'
import { agentUnit } from './unit.ts'
import { agentErrors } from '../agent-errors.ts'

export interface JoinHost {
  /** The join bundle as JSON, or as base64 of JSON. */
  readonly bundle: string
  readonly root: string
  /** Where the programs are installed. */
  readonly prefix: string
  /** The folder that contains agent.mjs and supervisor.mjs. */
  readonly from: string
  /** Folder for units; undefined: the agent is prepared but not started. */
  readonly units: string | undefined
  readonly node: string
  /** Settings that the bundle cannot know about this host; they override the bundle. */
  readonly own?: HostChoices
}

export interface HostChoices {
  /** The Node's address; on a host with several network cards, the default is the address towards the API server. */
  readonly nodeAddress?: string
  readonly proxy?: HostProxy
}

const UNIT = 'kubenode-agent.service'
const USAGE =
  'usage: agent.mjs join BUNDLE|@FILE|- [--root DIR] [--prefix DIR] [--address IP] [--proxy-api] [--no-start]\n'
export const JOIN_OPTIONS = {
  root: 'string',
  prefix: 'string',
  address: 'string',
  'proxy-api': 'boolean',
  'no-start': 'boolean',
  help: 'boolean',
} as const
const MAX_BUNDLE_BYTES = 1024 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])

/** The bundle's text in any of the accepted forms: JSON, or base64 of it, compressed or not. */
export function bundleText(given: string): string {
  const text =
    given === '-'
      ? readBoundedText(STANDARD_INPUT, MAX_BUNDLE_BYTES)
      : given.startsWith('@')
        ? readBoundedText(given.slice(1), MAX_BUNDLE_BYTES)
        : given
  const trimmed = text.trim()
  if (trimmed.startsWith('{')) return trimmed
  const bytes = Buffer.from(trimmed, 'base64')
  if (!bytes.subarray(0, GZIP.length).equals(GZIP)) return bytes.toString('utf8')
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BUNDLE_BYTES }).toString('utf8')
  } catch {
    throw new KubeNodeError(agentErrors.KN8003({ what: 'it is damaged; was the whole line copied?' }))
  }
}

export function prepareHost({ bundle, root, prefix, from, units, node, own = {} }: JoinHost): Prepared {
  refuseBelowFloor({ kernel: release(), glibc: readGlibc() })
  const dir = nodeDir(root, '/')
  const given = jsonOf(bundleText(bundle))
  const { machine, cluster } = parseJoinBundle(given)
  const text = JSON.stringify({ ...(given as object), ...own })
  parseJoinBundle(JSON.parse(text))
  for (const folder of [root, prefix]) requireTrustedWay(folder)
  refuseAnother(dir, { machine, cluster, prefix })
  written(prefix, () => {
    if (resolve(from) !== resolve(prefix)) copyPrograms(from, prefix, node)
  })
  written(root, () => {
    mkdirSync(dir.path, { recursive: true, mode: 0o755 })
    // Complete or absent: the agent reads the file as soon as it exists.
    writeWholeFile(joinFile(dir), text)
  })
  if (units !== undefined)
    written(units, () => {
      mkdirSync(units, { recursive: true })
      writeFileSync(join(units, UNIT), agentUnit({ node: join(prefix, 'bin/node'), folder: prefix, root }))
    })
  return { machine, text: `this host joins ${cluster} as ${machine}` }
}

interface Prepared {
  readonly machine: string
  /** What was done, as text for users. */
  readonly text: string
}

function written(folder: string, write: () => void): void {
  try {
    write()
  } catch (cause) {
    throw new KubeNodeError(agentErrors.KN8087({ folder, why: messageOf(cause) }), { cause })
  }
}

/** The same machine may join again: its token expired too early, its certificate expired while the cluster was unreachable, or the cluster has moved. */
function refuseAnother(
  dir: NodeDir,
  { machine, cluster, prefix }: { readonly machine: string; readonly cluster: string; readonly prefix: string },
): void {
  const path = identityFile(dir)
  if (!existsSync(path)) return
  const known = jsonOf(readFileSync(path, 'utf8'))
  if (isObject(known) && known['machine'] === machine && known['cluster'] === cluster) return
  const leave = `${prefix}/bin/node ${prefix}/agent.mjs leave`
  const knownIdentity = isObject(known)
    ? `the identity of ${String(known['machine'])} of ${String(known['cluster'])}`
    : 'an identity'
  throw new KubeNodeError(agentErrors.KN8005_known({ machine, cluster, knownIdentity, state: dir.state, leave }))
}

function copyPrograms(from: string, prefix: string, node: string): void {
  mkdirSync(join(prefix, 'bin'), { recursive: true })
  // A file that a running agent has loaded must not be overwritten, but a new file can replace its name.
  for (const name of ['agent.mjs', 'supervisor.mjs']) copyWholeFile(join(from, name), join(prefix, name))
  const libraries = existsSync(join(from, 'lib')) ? readdirSync(join(from, 'lib')) : []
  for (const name of libraries) {
    mkdirSync(join(prefix, 'lib'), { recursive: true })
    copyWholeFile(join(from, 'lib', name), join(prefix, 'lib', name))
  }
  copyWholeFile(node, join(prefix, 'bin/node'), { mode: 0o755 })
}

const SYSTEMD_RUNS = '/run/systemd/system'

export async function joinMain(args: readonly string[]): Promise<number> {
  const given = hostArguments(args, JOIN_OPTIONS, 1)
  if (given.kind === 'Wrong') {
    const error = new KubeNodeError(agentErrors.KN1002_joinOption({ option: given.word, why: given.why }))
    stderr.write(`${shownLine(messageOf(error))}${USAGE}`)
    return 2
  }
  const { flags, values } = given
  const [bundle] = given.plain
  if (bundle === undefined || flags.has('help')) {
    const stream = flags.has('help') ? stdout : stderr
    stream.write(USAGE)
    return flags.has('help') ? 0 : 2
  }
  // The clock's timers do not keep the process alive while it waits for the agent.
  const awake = setInterval(() => undefined, 2 ** 30)
  try {
    if (geteuid?.() !== 0) throw new KubeNodeError(agentErrors.KN8053())
    const starts = existsSync(SYSTEMD_RUNS) && !flags.has('no-start')
    const root = values.root ?? '/var/lib/kubenode'
    const { machine, text } = prepareHost({
      bundle,
      root,
      prefix: values.prefix ?? '/opt/kubenode',
      from: dirname(resolve(argv[1] ?? '.')),
      units: existsSync(SYSTEMD_RUNS) ? '/etc/systemd/system' : undefined,
      node: execPath,
      own: hostChoices({ address: values.address, proxyApi: flags.has('proxy-api') }, env),
    })
    stderr.write(`${text}\n`)
    if (!starts) return 0
    const since = systemClock.now()
    for (const command of [['daemon-reload'], ['enable', UNIT], ['restart', UNIT]])
      execFileSync('systemctl', ['--quiet', ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
    const joined = awaitJoined({ joinFile: joinFile(nodeDir(root, '/')), unit: UNIT, since, clock: systemClock })
    const progress = { err: (line: string) => void stderr.write(line), errWidth: () => columnsOf(stderr) }
    const why = await withProgress(progress, `waiting until the cluster has let ${machine} in`, joined)
    if (why !== undefined) throw new KubeNodeError(agentErrors.KN8088({ machine, why }))
    stderr.write(`${machine} has joined; see journalctl -u ${UNIT}\n`)
    return 0
  } catch (e) {
    stderr.write(`${messageOf(e)}\n`)
    return 1
  } finally {
    clearInterval(awake)
  }
}

/** A terminal without a known size reports 0. */
const columnsOf = ({ isTTY, columns }: Pick<typeof stderr, 'isTTY' | 'columns'>): number | undefined =>
  isTTY ? columns || 80 : undefined

interface GivenChoices {
  readonly address: string | undefined
  readonly proxyApi: boolean
}

/** For downloads, the proxy comes from the environment in which the join line runs; for the API server, only from the option. */
export function hostChoices(
  { address, proxyApi }: GivenChoices,
  given: Readonly<Record<string, string | undefined>>,
): HostChoices {
  if (address !== undefined && isIP(address) === 0)
    throw new KubeNodeError(
      agentErrors.KN1002_joinOption({ option: '--address', why: `${JSON.stringify(address)} is no address` }),
    )
  const url = given['https_proxy'] || given['HTTPS_PROXY'] || ''
  const not = given['no_proxy'] || given['NO_PROXY'] || ''
  if (url === '' && proxyApi)
    throw new KubeNodeError(
      agentErrors.KN1002_joinOption({ option: '--proxy-api', why: 'the variable HTTPS_PROXY is not set' }),
    )
  return {
    ...defined({ nodeAddress: address }),
    ...(url !== '' && { proxy: { url, ...(not !== '' && { not }), ...(proxyApi && { api: true }) } }),
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
