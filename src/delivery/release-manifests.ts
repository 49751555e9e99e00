// The objects that this release ships as files: kinds, policies, rights.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { isObject } from '#lib/json.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface Manifests {
  readonly kinds: readonly KubeObject[]
  /** For every cluster. */
  readonly rest: readonly KubeObject[]
  /** For the hub only. */
  readonly hub: readonly KubeObject[]
}

/** A build has them next to its programs. As YAML they would take as long to read as a program takes to load. */
export const MANIFESTS = 'manifests.json'

const isKubeObject = (v: unknown): v is KubeObject =>
  isObject(v) && typeof v['kind'] === 'string' && isObject(v['metadata'])

/** All objects of the YAML files of a folder, by file name. */
export function manifestsIn(folder: string): KubeObject[] {
  return readdirSync(folder)
    .filter((f) => f.endsWith('.yaml'))
    .toSorted()
    .flatMap((f) => parseAllDocuments(readFileSync(join(folder, f), 'utf8')).map((d): unknown => d.toJS()))
    .filter(isKubeObject)
}

export const manifestsOf = (deploy: string): Manifests => ({
  kinds: manifestsIn(join(deploy, 'crds')),
  rest: manifestsIn(join(deploy, 'install')),
  hub: manifestsIn(join(deploy, 'hub')),
})

export const builtManifests = (folder: string): Manifests =>
  JSON.parse(readFileSync(join(folder, MANIFESTS), 'utf8')) as Manifests

let known: Manifests | undefined

/** From the running program, which may be a build or its sources. Read once: an uninstall calls this several times. */
export function releaseManifests(): Manifests {
  const here = import.meta.dirname
  known ??= existsSync(join(here, MANIFESTS)) ? builtManifests(here) : manifestsOf(join(releaseRoot(), 'deploy'))
  return known
}
