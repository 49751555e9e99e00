// Pure: the line that a user pastes into a host's shell, or that cloud-init runs there. It downloads join.sh, trusting only the artifact servers'
// authority, runs it only if it has the expected digest, and passes the join bundle on standard input, so that it never shows up in a process list.
import { isIP } from 'node:net'
import { gzipSync } from 'node:zlib'
import { agentErrors } from '../agent-errors.ts'
import { timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { downloadScript, PROXY_OF_HOST } from './download-script.ts'
import { quoted } from '#lib/shell-word.ts'
import { shellError } from './shell-error.ts'
import { machinesErrors } from './machines-errors.ts'
import type { JoinTicket } from './join-command.ts'

export interface HostOptions {
  /** Proxy for downloads; default: the one in the host's environment. */
  readonly proxy?: string
  readonly proxyExcept?: string
  /** The API server is behind the same proxy. */
  readonly proxyApi?: boolean
  readonly address?: string
  /** Where the programs are installed. */
  readonly prefix?: string
}

export interface JoinLineOptions extends HostOptions {
  /** SHA-256 of join.sh, if the installation does not set it. */
  readonly script?: string
  /** The host has the files of `kubenode agent bundle` in the current folder. */
  readonly offline?: boolean
}

/** The most that a shell without line editing reads from a terminal. */
export const MAX_LINE_CHARS = 4_095
/** A clock that is slower by less than this affects neither certificates nor tokens. */
const BEHIND_SECONDS = 300
/** A shell function in the line: the folder for temporary files cannot be written. */
const UNWRITTEN = 'f'
const SHA256 = /^[0-9a-f]{64}$/

/** Without times, for a host that starts immediately and whose clock is right: equal bundles give equal lines. */
export type LineTicket = Pick<JoinTicket, 'machine' | 'bundle'> & Partial<Pick<JoinTicket, 'now' | 'expiresAt'>>

/** Starts with a space, so that most shells leave it out of their history. */
export function joinLine(ticket: LineTicket, options: JoinLineOptions): string {
  const { proxy, proxyExcept } = options
  const proxies =
    proxy === undefined
      ? PROXY_OF_HOST
      : `export https_proxy=${quoted(proxy)} no_proxy=${quoted(proxyExcept ?? '')}; unset HTTPS_PROXY NO_PROXY`
  const run = (script: string, more: readonly string[]) =>
    [`printf %s ${bundleOf(ticket)}`, ['sh', script, ...more, ...hostArguments(options)].join(' ')].join(' | ')
  if (options.offline === true) return ` (${[...clockChecks(ticket), proxies, run('./join.sh', [])].join('; ')})`
  const { base, ca, sha256 } = sourceOf(ticket, options)
  const download = downloadScript({
    url: '"$u"',
    ca: ca === undefined ? "''" : 'ca.pem',
    to: 'join.sh',
    shownUrl: '$u',
    unwritten: `${UNWRITTEN} 'no room'`,
  })
  const steps = [
    ...clockChecks(ticket),
    proxies,
    'umask 077',
    `${UNWRITTEN}() ${shellError(agentErrors.KN8087_temporary({ folder: '${TMPDIR:-/tmp}', why: '$1' }))}`,
    `d=$(mktemp -d 2>&1) && cd "$d" || ${UNWRITTEN} "$d"`,
    `trap 'rm -rf "$d"' EXIT`,
    `u=${quoted(`${base}join.sh`)}`,
    ...(ca === undefined
      ? []
      : [`printf '%s\\n' ${linesOf(ca).map(quoted).join(' ')} > ca.pem || ${UNWRITTEN} 'no room'`]),
    download,
    `echo "${sha256}  join.sh" | sha256sum -c > /dev/null 2>&1 || ${shellError(agentErrors.KN8084({ file: '$u' }))}`,
    run('join.sh', ['--from', quoted(base), ...(ca === undefined ? [] : ['--ca', '"$d/ca.pem"'])]),
  ]
  return ` (${steps.join('; ')})`
}

/** Compressed: otherwise the certificates in it would be encoded three times. */
const bundleOf = ({ bundle }: LineTicket): string => {
  const { joinScript: _, ...rest } = bundle
  return gzipSync(JSON.stringify(rest), { level: 9 }).toString('base64')
}

export const linesOf = (pem: string): readonly string[] =>
  pem
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

function clockChecks({ machine, now, expiresAt }: LineTicket): readonly string[] {
  if (now === undefined || expiresAt === undefined) return []
  const seconds = (ms: number) => Math.floor(ms / 1_000)
  const seen = '$(date -u +%Y-%m-%dT%H:%M:%SZ)'
  const expired = agentErrors.KN8003_expired({ until: timestamp(expiresAt), now: seen, machine })
  const behind = agentErrors.KN1408_join({ printed: timestamp(now), now: seen })
  return [
    `[ "$(date +%s)" -lt ${seconds(expiresAt)} ] || ${shellError(expired)}`,
    `[ "$(date +%s)" -gt ${seconds(now) - BEHIND_SECONDS} ] || ${shellError(behind)}`,
  ]
}

export interface JoinSource {
  /** Ends with a slash. */
  readonly base: string
  /** PEM; undefined: the host's authorities. */
  readonly ca: string | undefined
  readonly sha256: string
}

export function sourceOf({ machine, bundle }: LineTicket, { script }: JoinLineOptions): JoinSource {
  const cannot = (why: string) => new KubeNodeError(machinesErrors.KN1360_server({ name: machine, why }))
  const { artifactBase, artifactCaData } = bundle
  if (artifactBase === '')
    throw cannot(
      'the installation does not name where hosts download the agent (artifacts.address of kubenode install, --artifact-base of role controllers)',
    )
  if (artifactBase.startsWith('file:'))
    throw cannot(
      `artifacts are in a folder of one machine (${artifactBase}), as in a fleet of kubenode local up, whose nodes are made by their MachineSets; hosts join an installation of kubenode install`,
    )
  if (URL.parse(artifactBase)?.protocol !== 'https:')
    throw cannot(`hosts download the agent over HTTPS, and artifacts are at ${artifactBase}`)
  const sha256 = script ?? bundle.joinScript
  if (sha256 === undefined)
    throw cannot(
      'the digest of join.sh is not known; give the file with --join-script, or set artifacts.joinScript of kubenode install',
    )
  if (!SHA256.test(sha256)) throw cannot(`${JSON.stringify(sha256)} is no SHA-256 in hexadecimal digits`)
  const base = artifactBase.endsWith('/') ? artifactBase : `${artifactBase}/`
  return { base, ca: artifactCaData && Buffer.from(artifactCaData, 'base64').toString('utf8'), sha256 }
}

function hostArguments({ proxyApi, address, prefix }: HostOptions): readonly string[] {
  const wrong = (why: string) => new KubeNodeError(machinesErrors.KN1002_hostLine({ why }))
  if (address !== undefined && isIP(address) === 0) throw wrong(`--address ${JSON.stringify(address)} is no IP address`)
  if (prefix !== undefined && !/^\/[\w./-]+$/.test(prefix))
    throw wrong(`--prefix ${JSON.stringify(prefix)} is no absolute path of plain characters`)
  return [
    ...(prefix === undefined ? [] : ['--prefix', quoted(prefix)]),
    ...(address === undefined ? [] : ['--address', address]),
    ...(proxyApi === true ? ['--proxy-api'] : []),
  ]
}

export function requireProxy({ proxy, proxyExcept, proxyApi }: HostOptions): void {
  const wrong = (why: string) => new KubeNodeError(machinesErrors.KN1002_hostLine({ why }))
  if (proxy === undefined && proxyExcept !== undefined) throw wrong('--proxy-except needs --proxy')
  if (proxy !== undefined && !['http:', 'https:'].includes(URL.parse(proxy)?.protocol ?? ''))
    throw wrong(`--proxy ${JSON.stringify(proxy)} is no address such as http://proxy.example.org:3128`)
  if (proxyApi === true && proxy === undefined) throw wrong('--proxy-api needs --proxy')
}
