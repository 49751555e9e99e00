// The host of control planes built from Kubernetes programs: workloads on the hub, one namespace each. Every call starts from the hub's state, so a host that
// is killed between two writes, or loses a reply, continues where it was.
import { PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { defined } from '#lib/defined.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { bundleOf, rootIn, signerOf, type HeldRoot } from '../credentials/held.ts'
import { CLUSTER_AUTHORITY } from '../credentials/recipe.ts'
import { credentialSecretName, heldIn } from '../credentials/secrets.ts'
import {
  type ControlPlane,
  type ControlPlaneHost,
  type ControlPlaneRequest,
  type HostCapabilities,
  NotYet,
  type PutResult,
  type RestoreResult,
  type Snapshot,
} from '../port.ts'
import { settleAddress } from './address.ts'
import { objectsIn } from './etcd-care.ts'
import { noteLostMember, replacedIn, replaceLostMember, whyNoReplacement } from './member-care.ts'
import { refusedWrite, type Trouble } from './part-trouble.ts'
import { applyAll, partStates, type PartState } from './plane-objects.ts'
import { defragmentingOf, hasQuorum, planeOf, urlOf } from './plane-of.ts'
import {
  beginRestore,
  namespaceLabels,
  planeNamespace,
  PlaneRecords,
  type Kept,
  type PlaneRecord,
} from './plane-record.ts'
import { formsOf, nextShape, NO_CREDENTIALS, settingsOf, withResources, withStorageClass } from './plane-settings.ts'
import { PlaneWork, type WorkOptions } from './plane-work.ts'
import { noPlace, takenNamespace, unservedVersion } from './refusals.ts'
import { isEnding, removePlane } from './removal.ts'
import { withoutSnapshots } from './snapshot-slots.ts'
import { stepUpgrade, type Readings, type StoreSize } from './step-upgrade.ts'
import { NO_CARE } from './store-state.ts'
import type { PlaneDefaults } from './version-file.ts'

type PartStates = Readonly<Record<Part, PartState>>
type AskKubeconfig = Parameters<StoreSize>[0]['kubeconfig']
const DAY_MS = 86_400_000
/** Each is about ten pods; beyond this, losing one hub would cost too much. */
const MOST_PLANES = 100
const LOST_ROW = 'the version file lacks a version that runs: put its row back'
const secrets = coreKind('Secret')
export interface KubernetesHostOptions extends WorkOptions {
  readonly readings: Readings
  readonly most?: number
  readonly defaults?: () => PlaneDefaults
}

export class KubernetesHost implements ControlPlaneHost {
  readonly name = 'kubernetes'
  readonly #options: KubernetesHostOptions
  readonly #records: PlaneRecords
  readonly #work: PlaneWork
  /** One operation at a time per id. */
  readonly #locks = new KeyedLock({ what: 'changes of one control plane' })

  constructor(options: KubernetesHostOptions) {
    this.#options = options
    this.#records = new PlaneRecords(options.client, options.fieldManager)
    this.#work = new PlaneWork(options, this.#records)
  }

  get capabilities(): HostCapabilities {
    const minors = this.#options.versions().map(({ version }) => version.split('.').slice(0, 2).join('.'))
    return {
      ...defined({ snapshots: this.#options.defaults?.().snapshots }),
      isHighlyAvailable: true,
      keepsCredentials: true,
      minors: [...new Set(minors)],
      most: this.#options.most ?? MOST_PLANES,
    }
  }

  put(request: ControlPlaneRequest, signal?: AbortSignal): Promise<PutResult> {
    return this.#locks.run(request.id, async () => {
      const found = await this.#records.read(request.id, signal)
      if (found === 'Taken') return takenNamespace(request.id)
      const refused = await this.#refusal(request, found, signal)
      if (refused !== undefined) {
        await this.#keepCertificates(found, signal)
        return refused
      }
      if (found !== undefined && isEnding(found)) return { kind: 'Plane', plane: planeOf(found.record, undefined) }
      const kept = await this.#wanted(request, found, signal)
      this.#work.noteRotation(request.id, request.rotation)
      return this.#reconcile(kept, request, signal)
    })
  }

  async get(id: string, signal?: AbortSignal): Promise<ControlPlane | undefined> {
    const kept = await this.#living(id, signal)
    return kept === undefined ? undefined : this.#seen(kept, signal)
  }

  async list(signal?: AbortSignal): Promise<readonly ControlPlane[]> {
    const all = (await this.#records.all(signal)).filter(({ record }) => record.keptUntil === undefined)
    return Promise.all(all.map((kept) => this.#seen(kept, signal)))
  }

  async kubeconfig(
    id: string,
    identity: Parameters<ControlPlaneHost['kubeconfig']>[1],
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const kept = await this.#living(id, signal)
    const root = kept && (await this.#authority(kept, signal))
    const signer = root && signerOf(root)
    const address = kept?.record.address
    if (root === undefined || signer?.key === undefined || address === undefined) return undefined
    const client = issueCertificate(
      { certificate: signer.open, key: signer.key },
      {
        subject: { commonName: identity.user, organizations: identity.groups },
        validity: { now: this.#options.clock.now(), days: identity.lifeMs / DAY_MS },
        usage: 'client',
      },
    )
    return kubeconfigText({ url: urlOf(address), authority: bundleOf(root), client, user: identity.user })
  }

  stop(id: string, signal?: AbortSignal): Promise<'Stopped' | 'Gone'> {
    return this.#locks.run(id, async () => {
      let kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      const { isAwake: _, ...record } = kept.record
      kept = await this.#records.write(kept, { ...record, isStopped: true }, signal)
      const settings = this.#work.settings(kept)
      await this.#work.until('its pods end', signal, () => this.#work.isDown(this.#work.place(kept, signal), settings))
      return 'Stopped'
    })
  }

  snapshot(id: string, name: string, signal?: AbortSignal, withinMs?: number): Promise<Snapshot | 'Gone'> {
    return this.#locks.run(id, async () => {
      const found = await this.#living(id, signal)
      if (found === undefined) return 'Gone'
      let reading = await this.#work.takeSnapshot(found, name, signal)
      await this.#work.until(
        () => `snapshot ${name}: ${reading.why}`,
        signal,
        async () => {
          if (reading.taken === undefined) reading = await this.#work.takeSnapshot(reading.kept, name, signal)
          return reading.taken !== undefined
        },
        withinMs,
      )
      return reading.taken as Snapshot
    })
  }

  defragment(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'> {
    return this.#locks.run(id, async () => {
      let kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      const { record } = kept
      const store = record.store ?? NO_CARE
      if (store.defragmented >= number) return 'Done'
      if (record.isStopped || record.restoring !== undefined) throw new NotYet('its etcd is stopped')
      if (store.defragmenting === undefined)
        kept = await this.#records.write(kept, { ...record, store: { ...store, defragmenting: [] } }, signal)
      const place = this.#work.place(kept, signal)
      kept = await this.#careForStore(kept, await partStates(place, this.#work.settings(kept)), signal)
      if ((kept.record.store?.defragmented ?? 0) >= number) return 'Done'
      throw new NotYet(defragmentingOf(kept.record))
    })
  }

  replaceMember(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'> {
    return this.#locks.run(id, async () => {
      const kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      if (replacedIn(kept.record) >= number) return 'Done'
      const held = whyNoReplacement(kept.record)
      if (held !== undefined) throw new NotYet(held)
      const states = await partStates(this.#work.place(kept, signal), this.#work.settings(kept))
      const seen = await this.#noteUnready(kept, states, signal)
      const { kept: after, why } = await replaceLostMember(this.#work.memberTools(seen, signal), seen)
      if (replacedIn(after.record) >= number) return 'Done'
      throw new NotYet(why)
    })
  }

  drop(id: string, names: readonly string[], signal?: AbortSignal): Promise<'Dropped' | 'Gone'> {
    return this.#locks.run(id, async () => {
      const kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      await this.#records.write(kept, withoutSnapshots(kept.record, names), signal)
      return 'Dropped'
    })
  }

  restore(
    id: string,
    { snapshot, token }: { readonly snapshot: string; readonly token: string },
    signal?: AbortSignal,
  ): Promise<RestoreResult> {
    return this.#locks.run(id, async () => {
      let kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      const { record } = kept
      if (record.restored === token) return 'Restored'
      if (record.restoring?.token !== token) {
        const from = record.snapshots.find((s) => s.name === snapshot)
        if (from === undefined) return 'NoSnapshot'
        if (record.upgrade !== undefined) throw new NotYet(`${id} is being upgraded: no snapshot is restored meanwhile`)
        if (record.restoring !== undefined) throw new NotYet(`${record.restoring.snapshot} is being restored`)
        if (from.version !== record.forms.apiserver.version)
          throw new NotYet(`${snapshot} is of ${from.version}: a commit goes back to that version first`)
        const restoring = { snapshot, slot: from.slot, token }
        // What starts afterwards gets its full time.
        const { noQuorumSince: _, ...rest } = record
        kept = await this.#records.write(kept, beginRestore({ ...rest, isStopped: false }, restoring), signal)
      }
      let plane: ControlPlane | undefined
      await this.#work.until(
        () => plane?.message ?? plane?.state ?? '',
        signal,
        async () => {
          const current = await this.#living(id, signal)
          if (current === undefined) return true
          const result = await this.#reconcile(current, undefined, signal)
          plane = result.kind === 'Plane' ? result.plane : undefined
          return plane?.restored === token && plane.state !== 'Starting'
        },
      )
      return 'Restored'
    })
  }

  delete(
    id: string,
    { owner, keep }: { readonly owner: string; readonly keep?: string },
    signal?: AbortSignal,
  ): Promise<'Deleted' | 'Gone' | 'Owned'> {
    return this.#locks.run(id, async () => {
      const kept = await this.#living(id, signal)
      if (kept === undefined) return 'Gone'
      if (kept.record.owner !== owner) return 'Owned'
      await removePlane({ ...this.#options, records: this.#records, work: this.#work }, kept, keep, signal)
      return 'Deleted'
    })
  }

  async #refusal(
    request: ControlPlaneRequest,
    found: Kept | undefined,
    signal?: AbortSignal,
  ): Promise<PutResult | undefined> {
    const unserved = unservedVersion(request, this.#options.versions())
    if (unserved !== undefined || (found !== undefined && found.record.keptUntil === undefined)) return unserved
    const all = (await this.#records.all(signal)).map(({ record }) => record)
    const others = all.filter(({ id, keptUntil }) => id !== request.id && keptUntil === undefined)
    return noPlace(request, others, this.capabilities.most)
  }

  /** The record with everything that a request declares; the version follows step by step. */
  async #wanted(request: ControlPlaneRequest, found: Kept | undefined, signal?: AbortSignal): Promise<Kept> {
    const { id, owner, version, port } = request
    if (found !== undefined && found.record.keptUntil === undefined) {
      const { isAwake: _, ...record } = found.record
      const shape = nextShape(record.shape, withResources(request.shape, record.defaultResources))
      const next = { ...record, owner, isStopped: false, shape }
      return this.#records.write(found, next, signal)
    }
    const row = this.#options.versions().find((r) => r.version === version)
    if (row === undefined) throw new NotYet(`version ${version} is no longer in the version file`)
    const { storageClass, resources } = this.#options.defaults?.() ?? {}
    const record: PlaneRecord = {
      id,
      owner,
      hasOwnNodes: true,
      isUnserved: true,
      etcdToken: `${owner}-${this.#options.clock.now().toString(36)}`,
      shape: nextShape(undefined, withStorageClass(withResources(request.shape, resources), storageClass)),
      ...defined({ defaultResources: resources }),
      forms: formsOf(row),
      ...defined({ port }),
      isStopped: false,
      snapshots: found?.record.snapshots ?? [],
      ...defined({ files: found?.record.files }),
      blocked: [],
      unready: {},
    }
    return found === undefined
      ? this.#records.create(record, namespaceLabels(id), signal)
      : this.#records.write(found, record, signal)
  }

  /** Reads everything once and takes the next step. */
  async #reconcile(first: Kept, request: ControlPlaneRequest | undefined, signal?: AbortSignal): Promise<PutResult> {
    let kept = first
    const place = this.#work.place(kept, signal)
    const bare = settingsOf(kept.record, this.#options.versions(), NO_CREDENTIALS)
    const starting = (why: Trouble | string): PutResult => ({
      kind: 'Plane',
      plane: planeOf(kept.record, undefined, { why }),
    })
    if (bare === undefined) {
      await this.#keepCertificates(kept, signal)
      const plane = await this.#withoutRow(kept, signal)
      const isOther = request !== undefined && request.version !== plane.version
      return isOther
        ? { kind: 'Refused', reason: 'UpgradeRefused', message: plane.message ?? LOST_ROW }
        : { kind: 'Plane', plane }
    }
    if (kept.record.address === undefined) {
      await this.#work.giveAccess(place)
      const settled = await settleAddress(place, bare, kept.record)
      if (settled.is === 'Waits') return starting(settled.why)
      kept = await this.#records.write(kept, { ...kept.record, address: settled.address }, signal)
    }
    const credentials = await this.#work.credentials(kept, signal)
    if ('why' in credentials) return starting(credentials.why)
    if (kept.record.restoring !== undefined) {
      const restored = await this.#work.restoreStep(kept, credentials, signal)
      if ('why' in restored) return starting(restored.why)
      kept = restored.kept
    }
    const settings = { ...this.#work.settings(kept, credentials), reachable: await this.#work.reachable(signal) }
    const refused = await applyAll(place, objectsIn(settings)).catch((error: unknown) => {
      const trouble = refusedWrite(error)
      if (trouble === undefined) throw error
      return trouble
    })
    if (refused !== undefined) return starting(refused)
    if (kept.record.isStopped) return { kind: 'Plane', plane: await this.#seen(kept, signal) }
    const states = await partStates(place, settings)
    const { isUnserved } = kept.record
    kept = await this.#noteUnready(kept, states, signal)
    // The clients of its API server start in the same pass.
    if (isUnserved === true && kept.record.isUnserved === undefined) return this.#reconcile(kept, request, signal)
    const held = await this.#work.heldCredentials(kept, signal)
    const plane = (message?: string, next = kept): PutResult => ({
      kind: 'Plane',
      plane: planeOf(next.record, states, {
        ...held,
        ...defined({ change: message }),
      }),
    })
    if (request === undefined) return plane()
    kept = await this.#careForStore(kept, states, signal)
    kept = await this.#work.sealAgain(kept, held, { kubeconfig: this.#asks(kept, signal), ...defined({ signal }) })
    kept = await noteLostMember(this.#work.memberTools(kept, signal), kept)
    // Without writes there is no way back either: every step waits until the store has room.
    if (kept.record.members?.replacing !== undefined)
      return plane(kept.record.upgrade && 'waiting for a member of etcd that is being replaced', kept)
    if (kept.record.store?.report?.fullSince !== undefined)
      return plane(kept.record.upgrade && 'waiting for etcd to have room', kept)
    const stepped = await stepUpgrade(
      {
        clock: this.#options.clock,
        rows: this.#options.versions(),
        readings: this.#options.readings,
        write: (k, record) => this.#records.write(k, record, signal),
        takeSnapshot: (k, name) => this.#work.takeSnapshot(k, name, signal),
        kubeconfig: (k, identity) => this.kubeconfig(k.record.id, identity, signal),
      },
      kept,
      states,
      request,
    )
    return stepped.refused === undefined
      ? plane(stepped.message, stepped.kept)
      : { kind: 'Refused', reason: 'UpgradeRefused', message: stepped.refused }
  }

  #careForStore(kept: Kept, states: PartStates, signal?: AbortSignal): Promise<Kept> {
    return this.#work.careForStore(kept, states, { kubeconfig: this.#asks(kept, signal), ...defined({ signal }) })
  }

  #asks({ record }: Kept, signal?: AbortSignal): AskKubeconfig {
    return (identity) => this.kubeconfig(record.id, identity, signal)
  }

  async #noteUnready(kept: Kept, states: PartStates, signal?: AbortSignal): Promise<Kept> {
    const { unready } = kept.record
    const now = this.#options.clock.now()
    const next: Partial<Record<Part, number>> = {}
    for (const part of PARTS) if (!states[part].isReady) next[part] = unready[part] ?? now
    const { noQuorumSince = now, isUnserved = false, ...record } = kept.record
    const quorum = hasQuorum(record, states) ? { isFounded: true } : { noQuorumSince }
    const whole = states.etcd.serving >= record.shape.etcd.members ? { isWhole: true } : {}
    const served = isUnserved && states.apiserver.serving === 0 ? { isUnserved } : {}
    return this.#records.write(kept, { ...record, unready: next, ...quorum, ...whole, ...served }, signal)
  }

  async #seen(kept: Kept, signal?: AbortSignal): Promise<ControlPlane> {
    const { record } = kept
    const settings = settingsOf(record, this.#options.versions(), NO_CREDENTIALS)
    if (settings === undefined) return this.#withoutRow(kept, signal)
    const held = await this.#work.heldCredentials(kept, signal)
    return planeOf(record, await partStates(this.#work.place(kept, signal), settings), held)
  }

  /** A request may be refused for longer than a certificate is valid, and the running programs need theirs. */
  async #keepCertificates(kept: Kept | undefined, signal?: AbortSignal): Promise<void> {
    if (kept === undefined || isEnding(kept) || kept.record.keptUntil !== undefined) return
    await this.#work.credentials(kept, signal)
  }

  /** Running programs continue without their row in the version file, but cannot be changed until it is back. */
  async #withoutRow(kept: Kept, signal?: AbortSignal): Promise<ControlPlane> {
    const { record } = kept
    const ca = await this.#authority(kept, signal)
    const states = await partStates(this.#work.place(kept, signal), { cluster: record.id })
    return planeOf(record, states, { why: LOST_ROW, ...(ca && { ca: bundleOf(ca) }) })
  }

  async #living(id: string, signal?: AbortSignal): Promise<Kept | undefined> {
    const found = await this.#records.read(id, signal)
    return found === undefined || found === 'Taken' || found.record.keptUntil !== undefined ? undefined : found
  }

  async #authority({ record }: Kept, signal?: AbortSignal): Promise<HeldRoot | undefined> {
    const key = { namespace: planeNamespace(record.id), name: credentialSecretName(CLUSTER_AUTHORITY) }
    const secret = await this.#options.client.get(secrets, key, defined({ signal }))
    return secret && rootIn(heldIn([secret]).held, CLUSTER_AUTHORITY)
  }
}
