// A host of control planes in memory that outlives its callers: what is written into a control plane is one value, which a restore or a second making may lose.
import type { ControlPlane, ControlPlaneHost, ControlPlaneRequest, Snapshot } from '#controlplanes/port.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'

interface Kept {
  plane: ControlPlane
  /** How often it was made: another one has nothing of the one before. */
  made: number
}

const DAYS = 90

/** One pair serves all: its readers use its dates only. */
export function planePair(now: number) {
  const validity = { now, days: DAYS }
  const authority = newAuthority('planes', validity)
  return {
    authority,
    client: issueCertificate(authority, { subject: { commonName: 'kubenode:sync' }, validity, usage: 'client' }),
  }
}

export class MemoryPlanes implements ControlPlaneHost {
  readonly name = 'embedded'
  readonly capabilities = { isHighlyAvailable: false, minors: ['1.36'], most: 100 }
  readonly #planes = new Map<string, Kept>()
  readonly #pair: ReturnType<typeof planePair>
  readonly #made = new Map<string, number>()
  /** Whatever is taken from users, for invariants. */
  onHarm: (what: 'Stop' | 'Delete', id: string) => void = () => undefined

  constructor(pair: ReturnType<typeof planePair>) {
    this.#pair = pair
  }

  /** State and number of its making, by id. */
  shown(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#planes].map(([id, { plane, made }]) => [id, `${plane.state} ${made}`]))
  }

  async put({ id, owner, version }: ControlPlaneRequest) {
    const before = this.#planes.get(id)
    const made = before?.made ?? (this.#made.get(id) ?? 0) + 1
    this.#made.set(id, made)
    const port = 7_000 + made
    const plane: ControlPlane = {
      id,
      owner,
      state: 'Running',
      version,
      port,
      endpoint: `https://127.0.0.1:${port}`,
      ca: this.#pair.authority.certificate,
      snapshots: before?.plane.snapshots ?? [],
    }
    this.#planes.set(id, { plane, made })
    return { kind: 'Plane' as const, plane }
  }

  async get(id: string) {
    return this.#planes.get(id)?.plane
  }

  async list() {
    return [...this.#planes.values()].map(({ plane }) => plane)
  }

  async kubeconfig(id: string) {
    const found = this.#planes.get(id)
    if (found === undefined) return undefined
    const { authority, client } = this.#pair
    return kubeconfigText({ url: found.plane.endpoint, authority: authority.certificate, client, user: 'sync' })
  }

  async stop(id: string) {
    const found = this.#planes.get(id)
    if (found === undefined) return 'Gone' as const
    if (found.plane.state !== 'Stopped') this.onHarm('Stop', id)
    found.plane = { ...found.plane, state: 'Stopped' }
    return 'Stopped' as const
  }

  async snapshot(id: string, name: string) {
    const found = this.#planes.get(id)
    if (found === undefined) return 'Gone' as const
    const known = found.plane.snapshots.find((s) => s.name === name)
    if (known !== undefined) return known
    const { version } = found.plane
    const taken: Snapshot = { name, takenAt: '2026-01-05T00:00:00Z', bytes: 1, objects: 1, version }
    found.plane = { ...found.plane, snapshots: [...found.plane.snapshots, taken] }
    return taken
  }

  async drop(id: string, names: readonly string[]) {
    const found = this.#planes.get(id)
    if (found === undefined) return 'Gone' as const
    found.plane = { ...found.plane, snapshots: found.plane.snapshots.filter((s) => !names.includes(s.name)) }
    return 'Dropped' as const
  }

  async restore(id: string) {
    return this.#planes.has(id) ? ('NoSnapshot' as const) : ('Gone' as const)
  }

  async delete(id: string, { owner, keep }: { readonly owner: string; readonly keep?: string }) {
    const found = this.#planes.get(id)
    if (found === undefined) return 'Gone' as const
    if (found.plane.owner !== owner) return 'Owned' as const
    if (found.plane.snapshots.every((s) => s.name !== keep)) throw new Error(`${id} has no snapshot ${keep ?? ''}`)
    this.onHarm('Delete', id)
    this.#planes.delete(id)
    return 'Deleted' as const
  }
}
