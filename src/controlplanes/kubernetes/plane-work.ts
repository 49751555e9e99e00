// Operations on one control plane, in steps: credentials, stopping, snapshots, restores.
import { CONTROL_PLANE_ROLE, SYSTEM_NAMESPACE } from '#api/names.ts'
import {
  PARTS,
  type AddressBlock,
  type ControlPlaneSettings,
  type Part,
} from '#api/constructs/control-plane/settings.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { timestamp, type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { NotYet, type RotationRequest, type Snapshot } from '../port.ts'
import { ENCRYPTION_KEY } from '../credentials/recipe.ts'
import { endSnapshot, observeRestore, observeSnapshot, objectsIn, snapshotRoom } from './etcd-care.ts'
import type { ReadLog } from './care-jobs.ts'
import { endReplacement, type MemberTools } from './member-care.ts'
import { NO_MEMBER_CARE } from './member-state.ts'
import { credentialSettings, mountedSecrets } from './mounted-secrets.ts'
import { applyAll, partStates, podsOf, type PartState, type Place } from './plane-objects.ts'
import {
  type CredentialTools,
  keepPlaneCredentials,
  type PlaneCredentials,
  seenCredentials,
} from './plane-credentials.ts'
import { portSnapshot, versionOf } from './plane-of.ts'
import {
  planeNamespace,
  sealsAll,
  type Kept,
  type PlaneRecord,
  type PlaneRecords,
  type SealedRecord,
} from './plane-record.ts'
import { NO_CREDENTIALS, settingsOf, type CredentialSettings } from './plane-settings.ts'
import { NO_NETWORK, rangesOfNodes, reachable, type HubNetwork } from './reachable.ts'
import type { SealAgain } from './reseal.ts'
import { freeSlot, withSnapshot } from './snapshot-slots.ts'
import { OF_UPGRADE, type StoreSize } from './step-upgrade.ts'
import { careForStore } from './store-care.ts'
import { afterRestore } from './store-state.ts'
import type { ServedVersion } from './version-file.ts'

const POLL_MS = 1_000
/** Within a controller pass; longer work continues with the next call. */
const WITHIN_MS = 150_000
/** Retry interval of a failed snapshot; a manual fix in between goes unnoticed. */
const AGAIN_MS = 120_000
/** The member does not answer while it is defragmented. */
const DEFRAGMENTING = 'a member of etcd is being defragmented'
/** Asking an API server for the size is not free. */
const SIZE_MS = 60_000
const PROGRAMS = PARTS.filter((part) => part !== 'etcd')
const [BINDINGS, NODES] = [coreKind('RoleBinding'), coreKind('Node')]
/** A hub's nodes rarely change, and every control plane pass needs them. */
const NODES_MS = 60_000

export interface WorkOptions {
  /** The hub's client. */
  readonly client: KubeClient
  readonly fieldManager: string
  readonly clock: Clock
  readonly versions: () => readonly ServedVersion[]
  readonly readLog: ReadLog
  /** Subjects that get the host's rights in control plane namespaces. If left out, the host already has them. */
  readonly access?: readonly { readonly kind: 'User' | 'ServiceAccount'; readonly name: string }[]
  /** The hub's network, as written by its administrators; nothing if left out. */
  readonly network?: () => HubNetwork
  /** Size of the store between two reports of its members. If left out, only the members are asked. */
  readonly storeSize?: StoreSize
  /** If left out, stored content is not resealed with a new key, and the old key stays. */
  readonly sealAgain?: SealAgain
  /** The longest time a call waits for the hub. */
  readonly withinMs?: number
}

/** Access to the control plane itself. */
interface AsAdmin {
  readonly kubeconfig: Parameters<StoreSize>[0]['kubeconfig']
  readonly signal?: AbortSignal
}

export class PlaneWork {
  readonly #options: WorkOptions
  readonly #records: PlaneRecords
  /** By namespace. */
  readonly #applied = new Map<string, Map<string, string>>()
  /** By control plane: the last request. */
  readonly #rotations = new Map<string, RotationRequest>()
  #nodes: { readonly at: number; readonly ranges: readonly string[] } | undefined
  /** By control plane. */
  readonly #sizes = new Map<string, { readonly at: number; readonly bytes: number | undefined }>()

  constructor(options: WorkOptions, records: PlaneRecords) {
    this.#options = options
    this.#records = records
  }

  /** A role in this namespace only: it grants the host nothing elsewhere in the hub. */
  async giveAccess({ client, namespace, fieldManager }: Place): Promise<void> {
    const { access } = this.#options
    if (access === undefined) return
    const apiGroup = 'rbac.authorization.k8s.io'
    const binding: KubeObject = {
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: CONTROL_PLANE_ROLE, namespace },
      roleRef: { apiGroup, kind: 'ClusterRole', name: CONTROL_PLANE_ROLE },
      subjects: access.map((of) => ({
        ...of,
        ...(of.kind === 'User' ? { apiGroup } : { namespace: SYSTEM_NAMESPACE }),
      })),
    }
    const outcome = await outcomeOf(() => client.create(BINDINGS, binding, { fieldManager }))
    if (outcome.kind !== 'Applied' && outcome.kind !== 'Exists') throw outcome.error
  }

  async credentials(kept: Kept, signal?: AbortSignal): Promise<CredentialSettings | { readonly why: string }> {
    const made = await keepPlaneCredentials(this.#credentialTools(kept, signal), kept.record)
    if ('why' in made) return made
    await applyAll(this.place(kept, signal), mountedSecrets(made.files, planeNamespace(kept.record.id)))
    return credentialSettings(made.files)
  }

  /** Their current state, without changes; undefined while incomplete. */
  async heldCredentials(kept: Kept, signal?: AbortSignal): Promise<PlaneCredentials | undefined> {
    return seenCredentials(this.#credentialTools(kept, signal), kept.record)
  }

  /** Declared rotations, and reports of the control plane's clients. Another host learns them with the next call. */
  noteRotation(id: string, rotation: RotationRequest | undefined): void {
    if (rotation !== undefined) this.#rotations.set(id, rotation)
  }

  #credentialTools(kept: Kept, signal?: AbortSignal): CredentialTools {
    return {
      place: this.place(kept, signal),
      now: () => this.#options.clock.now(),
      rotation: this.#rotations.get(kept.record.id),
    }
  }

  async restoreStep(
    kept: Kept,
    credentials: CredentialSettings,
    signal?: AbortSignal,
  ): Promise<{ readonly why: string } | { readonly kept: Kept }> {
    const { restoring, ...record } = kept.record
    if (restoring === undefined) return { kept }
    const place = this.place(kept, signal)
    const settings = this.settings(kept, credentials)
    if (!(await this.isDown(place, settings))) return { why: `all of it ends before ${restoring.snapshot} is restored` }
    await endReplacement(place, record)
    const reading = await observeRestore(place, settings, { ...restoring, restores: record.restores ?? 1 })
    if (reading.is !== 'Done') return { why: `restore of ${restoring.snapshot}: ${reading.why}` }
    const isAsked = !restoring.token.startsWith(OF_UPGRADE)
    const { members = NO_MEMBER_CARE, ...others } = record
    const care = { store: afterRestore(others.store), members: { replaced: members.replaced } }
    const next = { ...others, ...care, ...(isAsked && { restored: restoring.token }) }
    return { kept: await this.#records.write(kept, next, signal) }
  }

  /** Programs stop before their store does. */
  async isDown(place: Place, settings: ControlPlaneSettings): Promise<boolean> {
    const objects = objectsIn({ ...settings, running: 'Nothing' })
    await applyAll(
      place,
      objects.filter((o) => o.kind === 'Deployment'),
    )
    if ((await podsOf(place, settings, PROGRAMS)).length > 0) return false
    await applyAll(
      place,
      objects.filter((o) => o.kind === 'StatefulSet'),
    )
    return (await podsOf(place, settings, ['etcd'])).length === 0
  }

  /** Takes a snapshot's next step: it counts once it was opened. */
  async takeSnapshot(
    first: Kept,
    name: string,
    signal?: AbortSignal,
  ): Promise<{ readonly kept: Kept; readonly taken: Snapshot | undefined; readonly why: string }> {
    let kept = first
    const known = kept.record.snapshots.find((s) => s.name === name)
    if (known !== undefined) {
      if (kept.record.isStopped && kept.record.isAwake === true) kept = await this.sleepAgain(kept, signal)
      return { kept, taken: portSnapshot(known), why: '' }
    }
    if (kept.record.restoring !== undefined) {
      if (!kept.record.isStopped) return { kept, taken: undefined, why: 'a snapshot is being restored' }
      // For a stopped control plane, nothing else continues them.
      const credentials = await this.credentials(kept, signal)
      const restored = 'why' in credentials ? credentials : await this.restoreStep(kept, credentials, signal)
      if ('why' in restored) return { kept, taken: undefined, why: restored.why }
      kept = restored.kept
    }
    if (kept.record.store?.doing?.do === 'defragment') return { kept, taken: undefined, why: DEFRAGMENTING }
    const place = this.place(kept, signal)
    const settings = this.settings(kept)
    if (kept.record.taking?.name !== name) {
      // It would write the same file.
      const earlier = await endSnapshot(place, kept.record.taking)
      if (earlier !== undefined) return { kept, taken: undefined, why: earlier }
      const sealedWith = sealsAll(kept.record)
      const taking = {
        name,
        slot: freeSlot(kept.record),
        version: versionOf(kept.record),
        ...defined({ sealedWith }),
      }
      const isAwake = kept.record.isStopped
      kept = await this.#records.write(kept, { ...kept.record, taking, isAwake }, signal)
    }
    const failed = kept.record.taking?.failed
    const now = this.#options.clock.now()
    if (failed !== undefined && failed.at <= now && now < failed.at + AGAIN_MS)
      throw new NotYet(`snapshot ${name}: ${failed.why}; tried again at ${timestamp(failed.at + AGAIN_MS)}`)
    if (kept.record.isStopped) {
      // Writers stop before the store.
      const [program] = await podsOf(place, settings, PROGRAMS)
      if (program !== undefined) return { kept, taken: undefined, why: `pod ${program} ends before it` }
      const credentials = await this.credentials(kept, signal)
      if ('why' in credentials) return { kept, taken: undefined, why: credentials.why }
      const awake = { ...this.settings(kept, credentials), running: 'Etcd' as const }
      await applyAll(
        place,
        objectsIn(awake).filter((o) => o.kind === 'ConfigMap' || o.kind === 'StatefulSet'),
      )
      const states = await partStates(place, awake)
      if (!states.etcd.isReady)
        return { kept, taken: undefined, why: states.etcd.trouble?.text ?? 'etcd starts for it' }
    }
    const { taking } = kept.record
    if (taking === undefined) return { kept, taken: undefined, why: 'it begins' }
    const reading = await observeSnapshot(place, settings, taking, this.#options.readLog)
    if (reading.is === 'Waits') return { kept, taken: undefined, why: reading.why }
    if (reading.is === 'Failed') {
      const after = { ...taking, failed: { at: now, why: reading.why } }
      await this.#records.write(kept, { ...kept.record, taking: after }, signal)
      throw new NotYet(`snapshot ${name}: ${reading.why}`)
    }
    const volume = { takenAt: timestamp(now), volumeBytes: await snapshotRoom(place) }
    kept = await this.#records.write(kept, withSnapshot(kept.record, reading.value, volume), signal)
    if (kept.record.isStopped) kept = await this.sleepAgain(kept, signal)
    const made = kept.record.snapshots.find((s) => s.name === name)
    return { kept, taken: made && portSnapshot(made), why: '' }
  }

  /** Takes the next maintenance step for a running store. */
  async careForStore(
    kept: Kept,
    states: Readonly<Record<Part, PartState>>,
    { signal, kubeconfig }: AsAdmin,
  ): Promise<Kept> {
    const now = this.#options.clock.now()
    return careForStore(
      {
        place: this.place(kept, signal),
        settings: this.settings(kept),
        readLog: this.#options.readLog,
        now,
        write: (of, record) => this.#records.write(of, record, signal),
        bytes: states.apiserver.serving > 0 ? await this.#sizeOf(kept.record, kubeconfig, now) : undefined,
        isWhole: states.etcd.isReady,
      },
      kept,
    )
  }

  /** Once another key seals: rewrites content of the older one. */
  async sealAgain(kept: Kept, held: PlaneCredentials | undefined, { signal, kubeconfig }: AsAdmin): Promise<Kept> {
    const { sealAgain, clock } = this.#options
    const { record } = kept
    const isDue = held?.own?.rotations.some(
      ({ name, waitsFor }) => name === ENCRYPTION_KEY && waitsFor?.what === 'sealed objects',
    )
    const [number, now, { at = 0 } = {}] = [held?.sealsWith, clock.now(), record.sealed?.failed]
    if (isDue !== true || sealAgain === undefined || number === undefined) return kept
    if (at <= now && now < at + AGAIN_MS) return kept
    const { failed, why } = await sealAgain({ record, kubeconfig }).catch((error: unknown) => ({
      failed: [],
      why: messageOf(error),
    }))
    const sealed: SealedRecord =
      why === undefined
        ? { all: { with: number, restores: record.restores ?? 0 } }
        : { ...record.sealed, failed: { at: clock.now(), objects: failed, why } }
    return this.#records.write(kept, { ...record, sealed }, signal)
  }

  /** Where API servers may call now. */
  async reachable(signal?: AbortSignal): Promise<readonly AddressBlock[]> {
    const { closed, open } = this.#options.network?.() ?? NO_NETWORK
    return reachable(closed ?? (await this.#ofNodes(signal)), open)
  }

  async #ofNodes(signal?: AbortSignal): Promise<readonly string[]> {
    const { client, clock } = this.#options
    const now = clock.monotonic()
    if (this.#nodes === undefined || now >= this.#nodes.at + NODES_MS)
      this.#nodes = { at: now, ranges: rangesOfNodes(await listAll(client, NODES, defined({ signal }))) }
    return this.#nodes.ranges
  }

  memberTools(kept: Kept, signal?: AbortSignal): MemberTools {
    return {
      place: this.place(kept, signal),
      settings: this.settings(kept),
      readLog: this.#options.readLog,
      now: this.#options.clock.now(),
      write: (of, record) => this.#records.write(of, record, signal),
    }
  }

  async #sizeOf(record: PlaneRecord, kubeconfig: AsAdmin['kubeconfig'], now: number): Promise<number | undefined> {
    const { storeSize } = this.#options
    const last = this.#sizes.get(record.id)
    if (storeSize === undefined || (last !== undefined && last.at <= now && now < last.at + SIZE_MS)) return last?.bytes
    // If the API server does not report it, the members are asked every hour.
    const bytes = await storeSize({ record, kubeconfig }).catch(() => undefined)
    this.#sizes.set(record.id, { at: now, bytes })
    return bytes
  }

  /** The etcd of a stopped control plane was started for a snapshot. */
  async sleepAgain(kept: Kept, signal?: AbortSignal): Promise<Kept> {
    const settings = this.settings(kept)
    await this.until('etcd ends again', signal, () => this.isDown(this.place(kept, signal), settings))
    const { isAwake: _, ...record } = kept.record
    return this.#records.write(kept, record, signal)
  }

  settings(kept: Kept, credentials: CredentialSettings = NO_CREDENTIALS): ControlPlaneSettings {
    const settings = settingsOf(kept.record, this.#options.versions(), credentials)
    if (settings === undefined) throw new NotYet('the version file lacks a version that runs: put its row back')
    return settings
  }

  place({ record }: Pick<Kept, 'record'>, signal?: AbortSignal): Place {
    const { client, fieldManager } = this.#options
    const namespace = planeNamespace(record.id)
    const applied = this.#applied.get(namespace) ?? new Map<string, string>()
    this.#applied.set(namespace, applied)
    return { client, fieldManager, namespace, applied, ...defined({ signal }) }
  }

  /** For a deleted control plane. */
  forget(id: string): void {
    this.#applied.delete(planeNamespace(id))
    this.#sizes.delete(id)
    this.#rotations.delete(id)
  }

  async until(
    what: string | (() => string),
    signal: AbortSignal | undefined,
    holds: () => Promise<boolean>,
    withinMs = this.#options.withinMs ?? WITHIN_MS,
  ): Promise<void> {
    const { clock } = this.#options
    const end = clock.monotonic() + withinMs
    while (!(await holds())) {
      if (clock.monotonic() > end) throw new NotYet(`still waiting for ${typeof what === 'string' ? what : what()}`)
      await clock.sleep(POLL_MS, signal)
    }
  }
}
