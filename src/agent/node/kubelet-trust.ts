// Which API server authorities this host's kubelet trusts, and which authority signed its certificate: the cluster keeps an authority as long as a
// kubelet depends on it. Only reads: the files belong to the kubelet. Anything unreadable is unknown, and an unknown kubelet never counts as having followed.
import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import { readStat } from '../supervise/proc.ts'
import type { Files } from '../files/port.ts'

export interface KubeletTrust {
  /** Absent when unknown. */
  readonly authorities?: readonly string[]
  /** Absent for a kubelet without a certificate, for example with a token. Its authority is absent if the agent does not trust it. */
  readonly certificate?: { readonly authority?: string }
}

type Given = { readonly path: string } | { readonly pem: string }

/** What a kubeconfig contains about trust. Parses only the plain form that programs write: one cluster, one user, one value per line. */
interface KubeconfigTexts {
  readonly authorities?: Given
  readonly certificate?: Given
  /** The kubeconfig contains something that could not be parsed. */
  readonly isUnclear: boolean
}

export function kubeconfigTexts(text: string): KubeconfigTexts {
  const ca = valuesOf(text, 'certificate-authority')
  const own = valuesOf(text, 'client-certificate')
  return {
    ...(ca.length === 1 && { authorities: ca[0] }),
    ...(own.length === 1 && { certificate: own[0] }),
    isUnclear:
      ca.length !== 1 || own.length > 1 || /^[^\S\n\r\u2028\u2029]*insecure-skip-tls-verify\s*:\s*true/m.test(text),
  }
}

function valuesOf(text: string, key: string): readonly Given[] {
  const lines = text.matchAll(
    new RegExp(`^[ \\t-]*"?${key}(-data)?"?[ \\t]*:[ \\t]*["']?([^"'\\s,]+)["']?,?[ \\t]*$`, 'gm'),
  )
  return [...lines].map(([, data, value = '']) =>
    data === undefined ? { path: value } : { pem: Buffer.from(value, 'base64').toString('latin1') },
  )
}

/** A kubelet writes its kubeconfig soon after its first start, and reads it only at start. */
const WRITES_WITHIN_MS = 300_000
const PATHS = ['/etc/kubernetes/kubelet.conf', '/var/lib/kubelet/kubeconfig']
const MOST_BYTES = 256 * 1024

export interface KubeletDeps {
  readonly files: Pick<Files, 'read' | 'stat' | 'readLink'>
  /** PEM of the authorities that the agent trusts. */
  readonly trusted: string
  /** A kubelet has registered the Node. */
  readonly isExpected: boolean
  readonly proc?: string
}

/** Undefined: this host has no kubelet. */
export async function readKubeletTrust(deps: KubeletDeps): Promise<KubeletTrust | undefined> {
  const { isExpected } = deps
  try {
    const running = runningKubelet(deps.proc ?? '/proc')
    const paths = running?.kubeconfig === undefined ? PATHS : [running.kubeconfig]
    for (const path of paths) {
      const file = await smallFile(deps, path)
      if (file !== undefined) return await trustIn(deps, file, running?.startedMs)
    }
    return running !== undefined || isExpected ? {} : undefined
  } catch {
    return {}
  }
}

interface SmallFile {
  readonly text: string
  readonly modifiedMs: number
}

async function smallFile({ files }: KubeletDeps, path: string): Promise<SmallFile | undefined> {
  const bytes = await files.read(path)
  if (bytes === undefined || bytes.length > MOST_BYTES) return undefined
  const stat = await files.stat(await behindLinks(files, path))
  return { text: bytes.toString('utf8'), modifiedMs: stat?.modifiedMs ?? Infinity }
}

const MOST_LINKS = 8

async function behindLinks(files: KubeletDeps['files'], path: string): Promise<string> {
  let found = path
  for (let n = 0; n < MOST_LINKS; n++) {
    const target = await files.readLink(found)
    if (target === undefined) return found
    found = resolve(dirname(found), target)
  }
  return found
}

async function trustIn(
  deps: KubeletDeps,
  { text, modifiedMs }: SmallFile,
  startedMs: number | undefined,
): Promise<KubeletTrust> {
  const { authorities, certificate, isUnclear } = kubeconfigTexts(text)
  const fileOf = async (given: Given): Promise<SmallFile | undefined> => {
    if ('pem' in given) return { text: given.pem, modifiedMs }
    return isAbsolute(given.path) ? smallFile(deps, given.path) : undefined
  }
  const trust = authorities && (await fileOf(authorities))
  const isInUse =
    startedMs === undefined || Math.max(modifiedMs, trust?.modifiedMs ?? Infinity) <= startedMs + WRITES_WITHIN_MS
  const own = certificate && (await fileOf(certificate))
  const [leaf] = own === undefined ? [] : certificatesIn(own.text)
  const signer = leaf === undefined ? undefined : signerPrint(leaf, deps.trusted)
  return {
    ...(trust !== undefined && isInUse && !isUnclear && { authorities: authorityPrints(trust.text) }),
    ...(certificate !== undefined && { certificate: signer === undefined ? {} : { authority: signer } }),
  }
}

interface RunningKubelet {
  /** Undefined when its arguments do not set one. */
  readonly kubeconfig?: string
  readonly startedMs: number
}

/** The kernel counts a process's start time in hundredths of a second since boot. */
const TICK_MS = 10

function runningKubelet(proc: string): RunningKubelet | undefined {
  for (const pid of readdirSync(proc)) {
    if (!/^\d+$/.test(pid) || readText(`${proc}/${pid}/comm`).trim() !== 'kubelet' || !isOfHost(proc, pid)) continue
    const stat = readStat(Number(pid), proc)
    if (stat === undefined || stat.state === 'Z') continue
    const bootSeconds = Number(/^btime (\d+)$/m.exec(readText(`${proc}/stat`))?.[1])
    const startedMs = bootSeconds * 1_000 + Number(stat.startTime) * TICK_MS
    const kubeconfig = argumentOf(readText(`${proc}/${pid}/cmdline`).split('\0'), '--kubeconfig')
    // An unknown start time counts as the earliest: any file may have been written after it.
    return { startedMs: Number.isFinite(startedMs) ? startedMs : 0, ...defined({ kubeconfig }) }
  }
  return undefined
}

/** Excludes a local user's process with that name, and a kubelet in a container, such as a containerized cluster on this host. */
function isOfHost(proc: string, pid: string): boolean {
  try {
    const space = (of: string): string | undefined => linkOf(`${proc}/${of}/ns/pid`)
    return statSync(`${proc}/${pid}`).uid === process.getuid?.() && space(pid) === space('self')
  } catch {
    // The process ended in between.
    return false
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function argumentOf(args: readonly string[], name: string): string | undefined {
  const at = args.findLastIndex((word) => word === name || word.startsWith(`${name}=`))
  const word = args[at]
  const value = word === name ? args[at + 1] : word?.slice(name.length + 1)
  return value !== undefined && isAbsolute(value) ? value : undefined
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The process ended in between.
    return ''
  }
}

/** A rotation waits for the slowest kubelet, and its owner acts by hand. */
const EVERY_MS = 120_000

interface KubeletWatchDeps extends KubeletDeps {
  readonly clock: Clock
  readonly onChange: () => void
}

/** Read before the first report: otherwise a report could show no kubelet on a host that has one. */
export class KubeletTrustWatch {
  readonly #deps: KubeletWatchDeps
  #value: KubeletTrust | undefined

  constructor(deps: KubeletWatchDeps) {
    this.#deps = deps
  }

  get value(): KubeletTrust | undefined {
    return this.#value
  }

  async check(): Promise<void> {
    const found = await readKubeletTrust(this.#deps)
    if (JSON.stringify(found) === JSON.stringify(this.#value)) return
    this.#value = found
    this.#deps.onChange()
  }

  /** Runs until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    while (!signal.aborted) {
      await clock.sleep(EVERY_MS, signal)
      await this.check()
    }
  }
}
