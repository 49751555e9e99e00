// Detects that pulls of images fail for a reason of the node or its network, from the kubelet's log. What one user can cause with the name of an image does not count:
// images that do not exist, or that the pod may not have, and a single registry that is not in the runtime's configuration. Pure.
import { formatDuration } from '#lib/duration.ts'
import { readingOf } from '../hardware/finding.ts'
import type { Reading } from './reading.ts'

export const PULL_LOG_ARGUMENTS: readonly string[] = ['--quiet', '--no-pager', '--output=cat', '--unit=kubelet']

/** What the kubelet logs once for each pull that failed, in quotes: texts of images and runtimes have theirs escaped. */
const FAILED =
  /^[EW]\d{4} [\d:.]+ +\d+ [\w.]+:\d+\] "(?:PullImage from image service failed|Failed to pull image)" err="/
/** Longer lines are of runtimes that quote whole answers; the reason is at their beginning or not of interest. */
const MAX_LINE = 4_096
const MS_PER_S = 1_000

/** At the end of the line, where the kubelet names the image. */
const IMAGE = / image="([^"\\\s]{1,512})"\s*$/
const MAX_TAIL = 1_024
const DEFAULT_REGISTRY = 'docker.io'

const DISK_FULL = 'no space is left on the disk'
const CAUSES: readonly (readonly [cause: string, pattern: RegExp])[] = [
  [DISK_FULL, / no space left on device/],
  ['the name of the registry is not found', / dial tcp: lookup \S+/],
  ['the certificate of the registry is refused', / x509: /],
  ['the registry limits this node', / 429 Too Many Requests| toomanyrequests:/],
  ['the registry has errors', / 50[0234] (?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time)/],
  [
    'the registry does not answer',
    / i\/o timeout| connection (?:refused|reset)| no route to host| network is unreachable| TLS handshake timeout| context deadline exceeded/,
  ],
]

export interface FailedPull {
  readonly atMs: number
  readonly cause: string
  readonly registry: string
}

/** The piece of the log to read: what is new, but no more than counts. A journal that was too slow once would be asked for more and more otherwise. */
export function pullLogSpan(lastMs: number, nowMs: number, windowMs: number): readonly string[] {
  const seconds = (ms: number): string => (ms / MS_PER_S).toFixed(3)
  return [`--since=@${seconds(Math.max(lastMs, nowMs - windowMs))}`, `--until=@${seconds(nowMs)}`]
}

/** Those in one piece of the log. */
export function failedPulls(log: string, atMs: number): readonly FailedPull[] {
  return log.split('\n').flatMap((line) => {
    const text = line.slice(0, MAX_LINE)
    const cause = FAILED.test(text) ? CAUSES.find(([, pattern]) => pattern.test(text)) : undefined
    return cause === undefined ? [] : [{ atMs, cause: cause[0], registry: registryOf(line) }]
  })
}

/** As containerd and the kubelet read the name of an image; empty if the line names none. */
function registryOf(line: string): string {
  const image = IMAGE.exec(line.slice(-MAX_TAIL))?.[1]
  if (image === undefined) return ''
  const [first = '', ...rest] = image.split('/')
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : DEFAULT_REGISTRY
}

/** Where runtimes have the settings of registries, one folder for each. */
export const REGISTRY_FOLDERS: readonly string[] = [
  '/etc/containerd/certs.d',
  '/etc/containers/certs.d',
  '/etc/docker/certs.d',
]

/** Several that fail at once point to the node or its network. */
const SEVERAL = 2

/** Those for which no single image of a user is the reason. */
function ofNode(failed: readonly FailedPull[], configured: ReadonlySet<string>): readonly FailedPull[] {
  const others = failed.filter((p) => p.cause !== DISK_FULL && p.registry !== '')
  if (new Set(others.map((p) => p.registry)).size >= SEVERAL) return failed
  return failed.filter((p) => p.cause === DISK_FULL || configured.has(p.registry))
}

/** More are not counted: it is True long before. */
const MOST_KEPT = 1_000

export const followPulls = (
  before: readonly FailedPull[],
  now: readonly FailedPull[],
  nowMs: number,
  windowMs: number,
): readonly FailedPull[] => [...before.filter((p) => nowMs - p.atMs <= windowMs), ...now].slice(-MOST_KEPT)

export function judgePulls(
  all: readonly FailedPull[],
  { windowMs, failures }: { readonly windowMs: number; readonly failures: number },
  configured: ReadonlySet<string>,
): Reading {
  const failed = ofNode(all, configured)
  const calm = { reason: 'ImagesArePulled', message: 'few pulls of images fail' }
  const causes = [...new Set(failed.map((p) => p.cause))].toSorted()
  const says = `${failures} or more pulls of images failed within ${formatDuration(windowMs)}: ${causes.join(', ')}`
  return readingOf({ type: 'ImagePullsFailing', calm }, failed.length >= failures ? [says] : [])
}
