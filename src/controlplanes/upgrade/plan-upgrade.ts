// Decides the next step of a control plane upgrade. Pure. Until the edge, its one-way step, the way back is the old programs, in seconds. After it, the way back is a
// restore that a user approves.
//
//   etcd → new programs keep the old behavior → soak → snapshot, opened → edge → new behavior → done
//   ◄──────────── the old programs return ───────────────────────────────┤├── a restore, with an Approval ──►
import { minorOf, type Part } from '#api/constructs/control-plane/settings.ts'
import { formatDuration } from '#lib/duration.ts'
import { etcdMinor, preflight } from './preflight.ts'
import type { BlockedVersion, Form, Snapshot, UpgradeRecord, UpgradeSeen, UpgradeRequest } from './seen.ts'
import { rowOf, type VersionTable } from './versions.ts'

export type UpgradeStep =
  /** Writes only the record in this step. */
  | { readonly do: 'record'; readonly record: UpgradeRecord }
  | { readonly do: 'roll'; readonly part: Part; readonly to: Form }
  | { readonly do: 'take-snapshot'; readonly version: string }
  | { readonly do: 'open-snapshot'; readonly name: string }
  | { readonly do: 'restore'; readonly snapshot: string; readonly version: string }
  /** Removes the record, and keeps the failed version. */
  | { readonly do: 'finish'; readonly version: string; readonly blocked?: BlockedVersion }

export type UpgradeDecision =
  | { readonly is: 'current' }
  /** Nothing was started. */
  | { readonly is: 'refused'; readonly problems: readonly string[] }
  | { readonly is: 'waits'; readonly waitingFor: string; readonly until?: number }
  | { readonly is: 'step'; readonly step: UpgradeStep; readonly because: string }

/** An older snapshot would lose more than the one-way step itself costs. */
export const SNAPSHOT_FRESH_MS = 10 * 60_000
/** New programs that are not ready within this time are replaced by the old ones. */
export const READY_WITHIN_MS = 10 * 60_000

/** Upgrade servers before their clients; on the way back, the reverse. */
const FORWARD: readonly Part[] = ['etcd', 'apiserver', 'controller-manager', 'scheduler']

export function planUpgrade(
  seen: UpgradeSeen,
  request: UpgradeRequest,
  table: VersionTable,
  now: number,
): UpgradeDecision {
  const { record } = seen
  if (record === undefined) return planBeginning(seen, request, table, now)
  if (record.restoring !== undefined) return planRestoring(seen, record, record.restoring.snapshot)
  if (record.edge !== undefined) return planAfterEdge(seen, record, record.edge, request, table, now)
  if (record.goingBack !== undefined) return planBack(seen, record, record.goingBack, table)
  return planForward(seen, record, request, table, now)
}

function planBeginning(seen: UpgradeSeen, request: UpgradeRequest, table: VersionTable, now: number): UpgradeDecision {
  const from = seen.parts.apiserver.wanted.version
  if (from === request.version) return { is: 'current' }
  const restore = planLateReturn(seen, from, request.version, now)
  if (restore !== undefined) return restore
  const { next, problems } = preflight(seen, request, table)
  if (problems.length > 0) return { is: 'refused', problems }
  return write({ from, to: next, begunAt: now }, `nothing speaks against ${from} to ${next}`)
}

/** A revert after a completed upgrade: the way back is the snapshot from before its one-way step, while it is kept. */
function planLateReturn(
  { snapshots, approvedRestore }: UpgradeSeen,
  running: string,
  wanted: string,
  now: number,
): UpgradeDecision | undefined {
  if (wayBack(undefined, running, wanted) !== 'restore') return undefined
  const kept = snapshots.filter((s) => s.version === wanted && s.isOpened).toSorted((a, b) => b.takenAt - a.takenAt)
  const newest = kept[0]
  if (newest === undefined) return undefined
  const chosen = kept.find((s) => s.name === approvedRestore)
  const edge = { at: newest.takenAt, snapshot: newest.name }
  if (chosen === undefined) return { is: 'waits', waitingFor: restoreNeeds(running, edge, now) }
  const record = { from: wanted, to: running, begunAt: now, edge: { at: chosen.takenAt, snapshot: chosen.name } }
  return write({ ...record, restoring: { snapshot: chosen.name, at: now } }, 'the restore is approved')
}

function planForward(
  seen: UpgradeSeen,
  record: UpgradeRecord,
  request: UpgradeRequest,
  table: VersionTable,
  now: number,
): UpgradeDecision {
  const turned = turn(record, request, table)
  if (turned !== undefined) return turned
  const late = FORWARD.map((part) => ({ part, ...seen.parts[part] })).find(
    (p) => !p.isReady && p.unreadySince !== undefined && now - p.unreadySince > READY_WITHIN_MS,
  )
  if (late !== undefined) {
    const why = `${late.part} was not ready within ${formatDuration(READY_WITHIN_MS)}`
    return write({ ...record, goingBack: { why, hasFailed: true } }, why)
  }
  const { from, to, soakSince } = record
  const old = minorOf(from) ?? 0
  const moved = roll(seen, table, { version: to, emulates: old })
  if (moved !== undefined) return moved
  if (soakSince === undefined) return write({ ...record, soakSince: now }, 'all programs run the new version')
  const left = soakSince + request.soakMs - now
  if (left > 0)
    return {
      is: 'waits',
      waitingFor: `the soak of ${to}: ${formatDuration(left)} left`,
      until: soakSince + request.soakMs,
    }
  if (minorOf(to) === old) return { is: 'step', step: { do: 'finish', version: to }, because: 'the soak is over' }
  if (seen.busyWith !== undefined) return { is: 'waits', waitingFor: `${seen.busyWith} to end` }
  const snapshot = fresh(seen.snapshots, from, soakSince, now)
  if (snapshot === undefined)
    return {
      is: 'step',
      step: { do: 'take-snapshot', version: from },
      because: 'the next step is one-way: it needs a snapshot to come back to',
    }
  if (!snapshot.isOpened)
    return {
      is: 'step',
      step: { do: 'open-snapshot', name: snapshot.name },
      because: 'a snapshot must be opened before it counts as a way back',
    }
  return write({ ...record, edge: { at: now, snapshot: snapshot.name } }, `snapshot ${snapshot.name} was opened`)
}

/** What another commit changes before the one-way step: back, or on to another patch of the same minor. */
function turn(record: UpgradeRecord, request: UpgradeRequest, table: VersionTable): UpgradeDecision | undefined {
  if (request.version === record.to) return undefined
  const [wanted, from, to] = [minorOf(request.version), minorOf(record.from), minorOf(record.to)]
  const row = rowOf(table, request.version)
  // A typo disrupts nothing; the one-way step waits until it is fixed.
  if (wanted === undefined || row === undefined)
    return { is: 'waits', waitingFor: `a version that the version table has; ${request.version} is not in it` }
  // This step is on the way there.
  if (to !== undefined && wanted > to) return undefined
  const isSameStep =
    wanted === to &&
    row.emulatesFrom <= (from ?? 0) &&
    // Another etcd minor is a separate upgrade.
    etcdMinor(row.etcd) === etcdMinor(rowOf(table, record.to)?.etcd ?? '')
  if (isSameStep && request.version !== record.from) {
    const { soakSince: _, ...rest } = record
    return write({ ...rest, to: request.version }, `${request.version} is wanted now; it belongs to the same step`)
  }
  const why = `${request.version} is wanted now`
  return write({ ...record, goingBack: { why, hasFailed: false } }, why)
}

/** All parts at once: the new programs kept the old behavior, so old and new work together in any order, and others may depend on the broken one. */
function planBack(
  seen: UpgradeSeen,
  { from, to }: UpgradeRecord,
  { why, hasFailed }: NonNullable<UpgradeRecord['goingBack']>,
  table: VersionTable,
): UpgradeDecision {
  const form = { version: from, emulates: minorOf(from) ?? 0 }
  const moved = FORWARD.toReversed().flatMap((part) => rollOf(seen, part, form, table) ?? [])[0]
  if (moved !== undefined) return moved
  const slow = FORWARD.find((part) => !seen.parts[part].isReady)
  if (slow !== undefined) return { is: 'waits', waitingFor: `${slow} to be ready with ${from} again` }
  return {
    is: 'step',
    step: { do: 'finish', version: from, ...(hasFailed && { blocked: { version: to, why } }) },
    because: `everything runs ${from} again: ${why}`,
  }
}

function planAfterEdge(
  seen: UpgradeSeen,
  record: UpgradeRecord,
  edge: NonNullable<UpgradeRecord['edge']>,
  request: UpgradeRequest,
  table: VersionTable,
  now: number,
): UpgradeDecision {
  const wantsBack = (minorOf(request.version) ?? 0) < (minorOf(record.to) ?? 0)
  if (wantsBack) {
    if (seen.approvedRestore !== edge.snapshot) return { is: 'waits', waitingFor: restoreNeeds(record.to, edge, now) }
    if (seen.busyWith !== undefined) return { is: 'waits', waitingFor: `${seen.busyWith} to end` }
    return write({ ...record, restoring: { snapshot: edge.snapshot, at: now } }, 'the restore is approved')
  }
  const moved = roll(seen, table, { version: record.to, emulates: minorOf(record.to) ?? 0 })
  if (moved !== undefined) return moved
  return { is: 'step', step: { do: 'finish', version: record.to }, because: `everything runs ${record.to}` }
}

const restoreNeeds = (to: string, edge: { readonly at: number; readonly snapshot: string }, now: number) =>
  `an Approval of the restore of ${edge.snapshot}: the one-way step to ${to} is done, and all that was written since ${formatDuration(now - edge.at)} ago would be lost`

function planRestoring(seen: UpgradeSeen, record: UpgradeRecord, snapshot: string): UpgradeDecision {
  const form = { version: record.from, emulates: minorOf(record.from) ?? 0 }
  const isBack = FORWARD.every((part) => {
    const p = seen.parts[part]
    return p.isReady && (part === 'etcd' || isForm(p.wanted, form))
  })
  if (isBack && seen.busyWith === undefined)
    return {
      is: 'step',
      step: { do: 'finish', version: record.from },
      because: `${snapshot} is restored and ${record.from} serves`,
    }
  if (seen.busyWith !== undefined) return { is: 'waits', waitingFor: `${seen.busyWith} to end` }
  const hasBegun = seen.parts.apiserver.wanted.version !== record.to
  if (!hasBegun && seen.approvedRestore !== snapshot) {
    const { restoring: _, ...rest } = record
    return write(rest, 'the approval was withdrawn before the restore began')
  }
  return {
    is: 'step',
    step: { do: 'restore', snapshot, version: record.from },
    because: 'the restore is approved',
  }
}

/** The first part without its form: roll it, or wait for it. One part at a time. */
function roll(seen: UpgradeSeen, table: VersionTable, form: Form): UpgradeDecision | undefined {
  for (const part of FORWARD) {
    const step = rollOf(seen, part, form, table)
    if (step !== undefined) return step
    const { wanted, isReady } = seen.parts[part]
    if (!isReady) return { is: 'waits', waitingFor: `${part} ${formText(part, wanted)} to be ready` }
  }
  return undefined
}

function rollOf(seen: UpgradeSeen, part: Part, form: Form, table: VersionTable): UpgradeDecision | undefined {
  const { wanted } = seen.parts[part]
  const aim = aimOf(part, wanted, form, table)
  if (isForm(wanted, aim)) return undefined
  return { is: 'step', step: { do: 'roll', part, to: aim }, because: `${part} comes next` }
}

const formText = (part: Part, { version, emulates }: Form): string =>
  part === 'etcd' || minorOf(version) === emulates ? version : `${version} as 1.${emulates}`

function aimOf(part: Part, wanted: Form, form: Form, table: VersionTable): Form {
  if (part !== 'etcd') return form
  const etcd = rowOf(table, form.version)?.etcd
  // A newer etcd minor serves older API servers; downgrading it is not worth the risk.
  if (etcd === undefined || (etcdMinor(etcd) ?? 0) < (etcdMinor(wanted.version) ?? 0)) return wanted
  return { version: etcd, emulates: etcdMinor(etcd) ?? 0 }
}

const isForm = (a: Form, b: Form): boolean => a.version === b.version && a.emulates === b.emulates

/** Taken after the soak, from the version to go back to, and recent. */
function fresh(snapshots: readonly Snapshot[], version: string, soakSince: number, now: number): Snapshot | undefined {
  const young = snapshots.filter(
    // One from the future was taken by another clock: its age is unknown.
    (s) => s.version === version && s.takenAt >= soakSince && s.takenAt <= now && now - s.takenAt <= SNAPSHOT_FRESH_MS,
  )
  return young.find((s) => s.isOpened) ?? young.toSorted((a, b) => b.takenAt - a.takenAt)[0]
}

const write = (record: UpgradeRecord, because: string): UpgradeDecision => ({
  is: 'step',
  step: { do: 'record', record },
  because,
})

/** What a change between two versions means, for a commit's plan. Undefined for an ordinary upgrade. */
export function wayBack(
  record: UpgradeRecord | undefined,
  running: string,
  wanted: string,
): 'programs' | 'restore' | undefined {
  const [here, there] = [minorOf(running), minorOf(wanted)]
  if (here === undefined || there === undefined) return undefined
  if (record !== undefined && record.edge === undefined) return wanted === record.from ? 'programs' : undefined
  return there < here ? 'restore' : undefined
}
