// Simulates a volume with one store's snapshots: what is on it, what fits, what fails. The checked rules are independent of how a file is chosen.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quotaOf } from '#api/constructs/control-plane/etcd.ts'
import type { PlaneRecord } from './plane-record.ts'
import { formsOf, NO_CREDENTIALS, settingsOf } from './plane-settings.ts'
import { freeSlot, withoutSnapshots, withSnapshot } from './snapshot-slots.ts'
import { REAL_VERSIONS } from '#test/support/worlds/kubernetes-host-world.ts'
import { quantityValue } from '#lib/quantity.ts'

const STORAGE = '8Gi'
const QUOTA = quotaOf(STORAGE)

const [row] = REAL_VERSIONS
if (row === undefined) throw new Error('no version')
const EMPTY: PlaneRecord = {
  id: 'fleet.one',
  owner: 'uid',
  etcdToken: 'token',
  shape: {
    replicas: 1,
    etcd: { members: 1, storage: STORAGE },
    endpoint: { type: 'ClusterIP' },
    network: { pods: '', services: '', domain: '' },
    resources: {},
    extraArgs: {},
  },
  forms: formsOf(row),
  isStopped: false,
  snapshots: [],
  blocked: [],
  unready: {},
}
const VOLUME = quantityValue(settingsOf(EMPTY, REAL_VERSIONS, NO_CREDENTIALS)?.etcd.snapshotStorage) ?? 0

/** The volume, whatever the record claims. */
class Volume {
  record: PlaneRecord = EMPTY
  readonly disk = new Map<number, number>()
  readonly size: number
  full = 0
  #n = 0

  constructor(size: number) {
    this.size = size
  }

  take(bytes: number, isScheduled: boolean): void {
    const slot = freeSlot(this.record)
    expect(this.record.snapshots.map((s) => s.slot)).not.toContain(slot)
    const name = `${isScheduled ? 'scheduled-' : 'mine-'}${this.#n++}`
    const taking = { name, slot, version: '1.36.2' }
    const before = this.record
    this.record = { ...before, taking }
    // The old file stays until the new one is complete.
    if ([...this.disk.values()].reduce((sum, of) => sum + of, 0) + bytes > this.size) {
      this.full++
      return
    }
    this.disk.set(slot, bytes)
    this.record = withSnapshot(
      this.record,
      { objects: 1, bytes, revision: 1 },
      { takenAt: `${this.#n}`, volumeBytes: this.size },
    )
    const names = this.record.snapshots.map((s) => s.name)
    expect(names).toContain(name)
    expect(names.length).toBeGreaterThanOrEqual(Math.min(2, before.snapshots.length + 1))
    const edge = before.upgrade?.edge?.snapshot
    if (before.snapshots.some((s) => s.name === edge)) expect(names).toContain(edge)
    for (const s of this.record.snapshots) expect(this.disk.get(s.slot)).toBe(s.bytes)
  }

  drop(at: number): void {
    const { snapshots } = this.record
    const name = snapshots[at % Math.max(1, snapshots.length)]?.name
    if (name !== undefined && snapshots.length > 1) this.record = withoutSnapshots(this.record, [name])
  }

  pin(at: number): void {
    const { snapshots } = this.record
    const snapshot = snapshots[at % Math.max(1, snapshots.length)]?.name
    if (snapshot !== undefined)
      this.record = {
        ...this.record,
        upgrade: { from: '1.35.9', to: '1.36.2', edge: { at: 0, snapshot } } as NonNullable<PlaneRecord['upgrade']>,
      }
  }
}

const deeds = fc.array(
  fc.record({ deed: fc.constantFrom('take', 'schedule', 'schedule', 'drop', 'pin'), at: fc.nat({ max: 20 }) }),
  { minLength: 5, maxLength: 60 },
)

function play(
  volume: Volume,
  all: readonly { readonly deed: string; readonly at: number }[],
  sizeAt: (n: number) => number,
) {
  for (const [n, { deed, at }] of all.entries()) {
    if (deed === 'drop') volume.drop(at)
    else if (deed === 'pin') volume.pin(at)
    else volume.take(sizeAt(n), deed === 'schedule')
  }
}

describe('the volume of snapshots', () => {
  test('is never full while the store keeps its size, also at its quota, and holds two snapshots at least', () => {
    fc.assert(
      fc.property(deeds, fc.integer({ min: 1, max: QUOTA }), (all, bytes) => {
        const volume = new Volume(VOLUME)
        play(volume, all, () => bytes)
        expect(volume.full).toBe(0)
      }),
    )
  })

  test('that is too small, or of a store that grows, fails the new snapshot and keeps those that were opened', () => {
    fc.assert(
      fc.property(deeds, fc.array(fc.integer({ min: 1, max: QUOTA }), { minLength: 1 }), (all, sizes) => {
        const volume = new Volume(VOLUME / 3)
        let kept = 0
        play(volume, all, (n) => {
          const { snapshots } = volume.record
          expect(snapshots.length).toBeGreaterThanOrEqual(Math.min(kept, 1))
          kept = snapshots.length
          return sizes[n % sizes.length] ?? 1
        })
      }),
    )
  })

  test('of a record from before files were counted uses the files of its snapshots', () => {
    const volume = new Volume(VOLUME)
    for (let n = 0; n < 6; n++) volume.take(QUOTA, true)
    expect(volume.full).toBe(0)
    const { files: _, ...old } = volume.record
    expect(freeSlot({ ...old, snapshots: old.snapshots.map((s, slot) => ({ ...s, slot })) })).toBe(old.snapshots.length)
    expect(volume.record.snapshots).toHaveLength(2)
  })
})
