// Which resources are served now: built-in ones always, custom ones as their definitions come and go.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Served } from './served.ts'

const keyOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`

export class Registry {
  readonly #served = new Map<string, Served>()
  readonly #byResource = new Map<string, Served[]>()
  /** Increases with every change, for caches of discovery and OpenAPI. */
  #generation = 0

  constructor(builtin: readonly Served[]) {
    for (const s of builtin) this.add(s)
  }

  get generation(): number {
    return this.#generation
  }

  add(served: Served): void {
    this.#generation++
    const { group, version, plural } = served.type
    this.#served.set(keyOf(group, version, plural), served)
    this.#reindex()
  }

  /** Replaces all versions of one custom resource; an empty list removes it. Built-in resources stay unchanged. */
  replace(group: string, plural: string, versions: readonly Served[]): void {
    if (this.isBuiltin(group, plural)) return
    this.#generation++
    for (const [key, s] of this.#served)
      if (s.type.group === group && s.type.plural === plural) this.#served.delete(key)
    for (const s of versions) this.#served.set(keyOf(group, s.type.version, plural), s)
    this.#reindex()
  }

  #reindex(): void {
    this.#byResource.clear()
    for (const s of this.#served.values()) {
      const key = `${s.type.group}/${s.type.plural}`
      const versions = this.#byResource.get(key) ?? []
      versions.push(s)
      this.#byResource.set(key, versions)
    }
  }

  find(group: string, version: string, plural: string): Served | undefined {
    return this.#served.get(keyOf(group, version, plural))
  }

  /** Any version of a resource. */
  anyVersion(group: string, plural: string): Served | undefined {
    return this.#byResource.get(`${group}/${plural}`)?.[0]
  }

  findKind(apiVersion: string, kind: string): Served | undefined {
    for (const s of this.#served.values()) if (s.type.kind === kind && apiVersionOf(s.type) === apiVersion) return s
    return undefined
  }

  all(): readonly Served[] {
    return [...this.#served.values()]
  }

  /** One of each stored resource: views of the same objects are left out. */
  stored(): readonly Served[] {
    const seen = new Map<string, Served>()
    for (const s of this.#served.values())
      if (s.resource === `${s.type.group}/${s.type.plural}` && !seen.has(s.resource)) seen.set(s.resource, s)
    return [...seen.values()]
  }

  hasGroup(group: string): boolean {
    for (const s of this.#served.values()) if (s.type.group === group) return true
    return false
  }

  /** A built-in resource: no definition can take its place, nor the objects stored under its name. */
  isBuiltin(group: string, plural: string): boolean {
    return this.#byResource.get(`${group}/${plural}`)?.some((s) => !s.custom) === true
  }

  /** Belongs to a built-in group; others come and go with their definitions. */
  isBuiltinGroup(group: string): boolean {
    for (const s of this.#served.values()) if (s.type.group === group && !s.custom) return true
    return false
  }

  /** Versions of a group, the preferred one first. */
  versions(group: string): readonly string[] {
    const versions = new Set<string>()
    for (const s of this.#served.values()) if (s.type.group === group) versions.add(s.type.version)
    return [...versions].sort(byVersionPriority)
  }

  groups(): readonly string[] {
    return [...new Set([...this.#served.values()].map((s) => s.type.group))]
  }
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/
const STAGE: Readonly<Record<string, number>> = { alpha: 0, beta: 1, '': 2 }

/** v2 before v1 before v1beta2 before v1alpha1 before names that are no versions, those in order. */
function byVersionPriority(a: string, b: string): number {
  const x = VERSION.exec(a)
  const y = VERSION.exec(b)
  if (x === null || y === null) return x === null && y === null ? (a < b ? -1 : a > b ? 1 : 0) : x === null ? 1 : -1
  const stage = (STAGE[y[2] ?? ''] ?? 0) - (STAGE[x[2] ?? ''] ?? 0)
  if (stage !== 0) return stage
  return Number(y[1]) - Number(x[1]) || Number(y[3] ?? 0) - Number(x[3] ?? 0)
}
