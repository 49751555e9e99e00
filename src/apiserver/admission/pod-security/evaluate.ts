// Which checks make a level in a release, and what they find in a pod.
import * as baseline from './baseline-checks.ts'
import { minorOf, type LevelVersion } from './levels.ts'
import type { Check, PodView, Violation } from './pod-view.ts'
import * as restricted from './restricted-checks.ts'

interface Rule {
  /** The first minor release with the check, and from which release another one takes its place. */
  readonly since: readonly (readonly [minor: number, check: Check])[]
}

interface RestrictedRule extends Rule {
  /** The baseline rule that it replaces. */
  readonly instead?: keyof typeof BASELINE
}

/** A check that does not concern some pods from a later release on. */
function narrowed(minor: number, narrow: (check: Check) => Check): (first: number, check: Check) => Rule {
  return (first, check) => {
    const later = [minor, narrow(check)] as const
    return { since: [[first, check], later] }
  }
}
const unlessWindows = narrowed(25, restricted.unlessWindows)
const unlessOwnUsers = narrowed(35, baseline.unlessOwnUsers)

/** In the order in which violations are reported. */
const BASELINE = {
  appArmorProfile: { since: [[0, baseline.appArmorProfile]] },
  capabilities: { since: [[0, baseline.capabilities]] },
  hostNamespaces: { since: [[0, baseline.hostNamespaces]] },
  hostPathVolumes: { since: [[0, baseline.hostPathVolumes]] },
  hostPorts: { since: [[0, baseline.hostPorts]] },
  probeHosts: { since: [[34, baseline.probeHosts]] },
  privileged: { since: [[0, baseline.privileged]] },
  procMount: unlessOwnUsers(0, baseline.procMount),
  seLinuxOptions: {
    since: [
      [0, baseline.seLinuxOptions],
      [31, baseline.seLinuxOptions31],
    ],
  },
  seccompProfile: {
    since: [
      [0, baseline.seccompAnnotations],
      [19, baseline.seccompProfile],
    ],
  },
  sysctls: {
    since: [
      [0, baseline.sysctls],
      [27, baseline.sysctls27],
      [29, baseline.sysctls29],
      [32, baseline.sysctls32],
    ],
  },
  windowsHostProcess: { since: [[0, baseline.windowsHostProcess]] },
} satisfies Readonly<Record<string, Rule>>

const RESTRICTED: readonly RestrictedRule[] = [
  unlessWindows(8, restricted.allowPrivilegeEscalation),
  { ...unlessWindows(22, restricted.droppedCapabilities), instead: 'capabilities' },
  { since: [[35, baseline.procMount]], instead: 'procMount' },
  { since: [[0, restricted.volumeTypes]], instead: 'hostPathVolumes' },
  unlessOwnUsers(0, restricted.runAsNonRoot),
  unlessOwnUsers(23, restricted.runAsUser),
  { ...unlessWindows(19, restricted.requiredSeccompProfile), instead: 'seccompProfile' },
]

const inForce = ({ since }: Rule, minor: number): Check | undefined => since.findLast(([first]) => first <= minor)?.[1]

function checksOf(at: LevelVersion): readonly Check[] {
  if (at.level === 'privileged') return []
  const minor = minorOf(at)
  const own = at.level === 'restricted' ? RESTRICTED.filter((rule) => inForce(rule, minor) !== undefined) : []
  const needless: ReadonlySet<string> = new Set(own.flatMap(({ instead }) => instead ?? []))
  const shared: readonly Rule[] = Object.entries(BASELINE).flatMap(([id, rule]) => (needless.has(id) ? [] : [rule]))
  return [...shared, ...own].map((rule) => inForce(rule, minor)).filter((check) => check !== undefined)
}

export const violationsOf = (pod: PodView, at: LevelVersion): readonly Violation[] =>
  checksOf(at)
    .map((check) => check(pod))
    .filter((found) => found !== undefined)

/** `host namespaces (hostPID=true), privileged (container "a" …)`. */
export const detailsText = (violations: readonly Violation[]): string =>
  violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')

/** The same without names of containers and values. */
export const reasonsText = (violations: readonly Violation[]): string => violations.map((v) => v.reason).join(', ')
