// Carries out an upgrade's next step; the planner in src/controlplanes/upgrade decides it from the record and the running state.
import { PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import type { Clock } from '#lib/clock.ts'
import type { ControlPlaneRequest, Snapshot } from '../port.ts'
import { planUpgrade, type UpgradeStep } from '../upgrade/plan-upgrade.ts'
import type { Readiness, UpgradeSeen } from '../upgrade/seen.ts'
import type { PartState } from './plane-objects.ts'
import { type Kept, type PlaneRecord, beginRestore } from './plane-record.ts'
import { formsOf } from './plane-settings.ts'
import type { ServedVersion } from './version-file.ts'
import { defined } from '#lib/defined.ts'

interface ReadingsOf {
  readonly record: PlaneRecord
  readonly wanted: string
  readonly kubeconfig: (identity: {
    readonly user: string
    readonly groups: readonly string[]
    readonly lifeMs: number
  }) => Promise<string | undefined>
}

/** Preconditions that are read before anything starts. A failed read is unknown, and unknown blocks. */
export type Readings = (of: ReadingsOf) => Promise<Readiness>

/** Store size of the fullest member in bytes; throws if unknown. */
export type StoreSize = (of: Pick<ReadingsOf, 'record' | 'kubeconfig'>) => Promise<number>

export interface UpgradeTools {
  readonly clock: Clock
  readonly rows: readonly ServedVersion[]
  readonly readings: Readings
  readonly write: (kept: Kept, record: PlaneRecord) => Promise<Kept>
  readonly takeSnapshot: (
    kept: Kept,
    name: string,
  ) => Promise<{ readonly kept: Kept; readonly taken: Snapshot | undefined; readonly why: string }>
  readonly kubeconfig: (kept: Kept, identity: Parameters<ReadingsOf['kubeconfig']>[0]) => Promise<string | undefined>
}

export interface Stepped {
  readonly kept: Kept
  readonly message?: string
  /** Nothing was started. */
  readonly refused?: string
}

/** Prefix of restore tokens that an upgrade requests. */
export const OF_UPGRADE = 'upgrade/'
const DEFAULT_SOAK_MS = 3_600_000

export async function stepUpgrade(
  tools: UpgradeTools,
  kept: Kept,
  states: Readonly<Record<Part, PartState>>,
  request: ControlPlaneRequest,
): Promise<Stepped> {
  const { record } = kept
  const { version, upgrade } = request
  if (record.upgrade === undefined && record.forms.apiserver.version === version) return { kept }
  const now = tools.clock.now()
  const seen = await seenOf(tools, kept, states, request)
  const wanted = {
    version,
    walksMinors: upgrade?.walksMinors ?? false,
    soakMs: upgrade?.soakMs ?? DEFAULT_SOAK_MS,
    ...defined({ accepts: upgrade?.accepts }),
  }
  const decided = planUpgrade(seen, wanted, tools.rows, now)
  switch (decided.is) {
    case 'current':
      return { kept }
    case 'refused':
      return { kept, refused: decided.problems.join('; ') }
    case 'waits':
      // If nothing was started, there is no change to report it in.
      return record.upgrade === undefined
        ? { kept, refused: decided.waitingFor }
        : { kept, message: `waiting for ${decided.waitingFor}` }
    case 'step':
      return { ...(await carryOut(tools, kept, decided.step)), message: decided.because }
    default:
      return decided satisfies never
  }
}

async function seenOf(
  { readings, kubeconfig }: UpgradeTools,
  kept: Kept,
  states: Readonly<Record<Part, PartState>>,
  { version, upgrade }: ControlPlaneRequest,
): Promise<UpgradeSeen> {
  const { record } = kept
  const parts = PARTS.map((part) => {
    const since = record.unready[part]
    const wanted = record.forms[part]
    const { isReady } = states[part]
    return [part, { wanted, running: [wanted], isReady, ...defined({ unreadySince: since }) }] as const
  })
  return {
    parts: Object.fromEntries(parts) as unknown as UpgradeSeen['parts'],
    record: record.upgrade,
    readiness:
      record.upgrade === undefined
        ? await readings({ record, wanted: version, kubeconfig: (identity) => kubeconfig(kept, identity) })
        : NOT_ASKED,
    snapshots: record.snapshots.map(({ name, takenAt, version: of }) => ({
      name,
      takenAt: Date.parse(takenAt),
      version: of,
      // The record has opened snapshots only.
      isOpened: true,
    })),
    ...defined({ snapshotTrouble: record.taking?.failed?.why }),
    approvedRestore: upgrade?.approvedRestore,
    busyWith: isComingBack(record, states) ? 'the restored programs' : undefined,
    blocked: record.blocked,
  }
}

/** An upgrade's restore is done, and must not repeat while the restored state starts. */
const isComingBack = ({ upgrade, forms, restoring }: PlaneRecord, states: Readonly<Record<Part, PartState>>): boolean =>
  restoring !== undefined ||
  (upgrade?.restoring !== undefined &&
    forms.apiserver.version === upgrade.from &&
    PARTS.some((part) => !states[part].isReady))

const unread = { known: false, why: 'it was not asked' } as const
const NOT_ASKED: Readiness = {
  kubelets: unread,
  unreadyNodes: unread,
  blockingBudgets: unread,
  removedApisInUse: unread,
  deafWebhooks: unread,
  unfitAddons: unread,
  etcd: unread,
  surgeTrouble: unread,
}

async function carryOut(tools: UpgradeTools, kept: Kept, step: UpgradeStep): Promise<{ readonly kept: Kept }> {
  const { record } = kept
  const write = async (next: PlaneRecord) => ({ kept: await tools.write(kept, next) })
  switch (step.do) {
    case 'record':
      return write({ ...record, upgrade: step.record })
    case 'roll':
      // Starts the new form's clock: the old one's unreadiness does not count.
      return write({
        ...record,
        forms: { ...record.forms, [step.part]: step.to },
        unready: { ...record.unready, [step.part]: tools.clock.now() },
      })
    case 'take-snapshot': {
      const name = record.taking?.name ?? `edge-${step.version.replaceAll('.', '-')}-${tools.clock.now().toString(36)}`
      const { kept: after } = await tools.takeSnapshot(kept, name)
      return { kept: after }
    }
    case 'open-snapshot':
      throw new Error(`snapshot ${step.name} is in the record and was not opened`)
    case 'restore': {
      const from = record.snapshots.find((s) => s.name === step.snapshot)
      const row = tools.rows.find((r) => r.version === step.version)
      if (from === undefined || row === undefined) throw new Error(`${step.snapshot} or ${step.version} is gone`)
      // etcd never goes back on its own.
      const forms = { ...formsOf(row), etcd: record.forms.etcd }
      const token = `${OF_UPGRADE}${step.snapshot}/${tools.clock.now()}`
      return write(beginRestore({ ...record, forms }, { snapshot: step.snapshot, slot: from.slot, token }))
    }
    case 'finish': {
      const { upgrade: _, ...rest } = record
      const blocked = record.blocked.filter(({ version }) => version !== step.version)
      return write({
        ...rest,
        blocked: step.blocked === undefined ? blocked : [...blocked, step.blocked].slice(-MOST_BLOCKED),
      })
    }
    default:
      return step satisfies never
  }
}

const MOST_BLOCKED = 20
