// The objects that this release ships as files: kinds, policies, rights.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { isObject } from '#lib/json.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface Manifests {
  readonly kinds: readonly KubeObject[]
  /** For every cluster alike. */
  readonly rest: readonly KubeObject[]
  /** For the hub alone. */
  readonly hub: readonly KubeObject[]
}

/** A build has them beside its programs; as YAML they take as long to read as a program to load. */
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

/** Of the program that runs, which may be a build of its sources. Read once: an uninstall asks for it several times. */
export function releaseManifests(): Manifests {
  const here = import.meta.dirname
  known ??= existsSync(join(here, MANIFESTS)) ? builtManifests(here) : manifestsOf(join(releaseRoot(), 'deploy'))
  return known
}
