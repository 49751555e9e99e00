// The most machines that were out of service at once, in the cluster and in its zones, racks and pools: those that KubeNode took out, and all.
import type { Machine } from '#api/kinds/machine.ts'

const PLACES = ['cluster', 'zone', 'rack', 'pool'] as const
export type PlaceKind = (typeof PLACES)[number]

export interface Peak {
  readonly machines: number
  readonly of: number
  readonly share: number
  readonly place: string
  readonly at: number
}

export type PeaksByPlace = Readonly<Record<PlaceKind, Peak>>

const NONE: Peak = { machines: 0, of: 0, share: 0, place: '', at: 0 }

export class Peaks {
  readonly #placesOf = new Map<string, readonly string[]>()
  readonly #sizes = new Map<string, number>()
  readonly #peaks = new Map<PlaceKind, Peak>()

  constructor(machines: Iterable<Machine>) {
    for (const { metadata, spec } of machines) {
      const places = PLACES.map((kind) => `${kind}\n${kind === 'cluster' ? '' : (spec[kind] ?? '')}`)
      this.#placesOf.set(metadata.name ?? '', places)
      for (const place of places) this.#sizes.set(place, (this.#sizes.get(place) ?? 0) + 1)
    }
  }

  note(out: Iterable<string>, at: number): void {
    const counts = new Map<string, number>()
    for (const name of out)
      for (const place of this.#placesOf.get(name) ?? []) counts.set(place, (counts.get(place) ?? 0) + 1)
    for (const [key, machines] of counts) {
      const [kind, place = ''] = key.split('\n') as [PlaceKind, string?]
      // Machines without a zone or rack are no place.
      if (kind !== 'cluster' && place === '') continue
      const of = this.#sizes.get(key) ?? 1
      const share = machines / of
      if (share > (this.#peaks.get(kind)?.share ?? 0)) this.#peaks.set(kind, { machines, of, share, place, at })
    }
  }

  result(): PeaksByPlace {
    const of = (kind: PlaceKind) => this.#peaks.get(kind) ?? NONE
    return { cluster: of('cluster'), zone: of('zone'), rack: of('rack'), pool: of('pool') }
  }
}
