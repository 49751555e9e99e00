// Builds KubeNode's image into a layout: same bytes for same sources, on any machine.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import { bundlePrograms } from '../package/build.ts'
import type { Descriptor } from '#artifacts/oci/descriptor.ts'
import { descriptorOf } from '#artifacts/oci/descriptor.ts'
import { putImage, putIndex, putReferrer } from '#artifacts/oci/image-documents.ts'
import { writeLayer, type Layer } from '#artifacts/oci/layer.ts'
import type { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { bundleErrors } from '#agent/join/bundle-errors.ts'
import { VERSION } from '#lib/program-version.ts'
import { appLayer, PROGRAM_PATH } from './app-layer.ts'
import { baseLayer, CERTIFICATES_PATH, IMAGE_USER, namedDeb } from './base-layer.ts'
import type { BuiltCommit } from './commit.ts'
import { fetchPackages, readDebianLock, readPackage, type Architecture, type LockedPackage } from './debian-lock.ts'
import { CONTAINERD_NAME } from '#artifacts/oci/layout-file.ts'
import { nodeFile } from './node-layer.ts'
import { npmSbom, SBOM_TYPE, sbomOf } from './sbom.ts'

export interface BuildImageOptions {
  /** Root of the checkout. */
  readonly root: string
  /** Cache of downloaded packages. */
  readonly cache: string
  readonly architectures: readonly Architecture[]
  readonly commit: BuiltCommit
  /** HOST/NAME:TAG, as container engines list it. */
  readonly name: string
  readonly tag: string
  /** Debian mirror; this machine's apt sources if left out. */
  readonly mirror?: string
  readonly report: (line: string) => void
}

/** Install path on hosts; the unit and the join script use it. */
const AGENT_PREFIX = '/opt/kubenode'

export async function buildImage(store: LayoutStore, options: BuildImageOptions): Promise<Descriptor> {
  const { root, commit, architectures } = options
  const lock = readDebianLock(root)
  const scratch = mkdtempSync(join(tmpdir(), 'kubenode-image-'))
  try {
    const app = await writeLayer(store, scratch, await appEntries(root, scratch))
    const npm = npmSbom(root)
    const manifests: Descriptor[] = []
    for (const architecture of architectures) {
      const { base, node, packages } = await platformLayers(store, scratch, options, architecture)
      const image = await putImage(store, [base, node, { ...app, made: 'programs of KubeNode' }], {
        architecture,
        created: commit.time,
        user: `${IMAGE_USER}:${IMAGE_USER}`,
        env: {
          ...LEAN_MALLOC,
          PATH: '/usr/local/bin:/usr/bin',
          HOME: '/tmp',
          TMPDIR: '/tmp',
          SSL_CERT_FILE: CERTIFICATES_PATH,
        },
        entrypoint: [`/${PROGRAM_PATH}`],
        folder: '/tmp',
        labels: labelsOf(commit),
      })
      const list = sbomOf(npm, { release: lock.release, architecture, packages, time: commit.time })
      await putReferrer(store, image, {
        artifactType: SBOM_TYPE,
        layers: [{ descriptor: descriptorOf(SBOM_TYPE, list), bytes: list }],
      })
      manifests.push(image)
    }
    return await putIndex(store, manifests, labelsOf(commit), {
      tag: options.tag,
      annotations: { [CONTAINERD_NAME]: options.name },
    })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const labelsOf = ({ time, revision }: BuiltCommit): Readonly<Record<string, string>> => ({
  'org.opencontainers.image.title': 'kubenode',
  'org.opencontainers.image.version': VERSION,
  'org.opencontainers.image.created': time.toISOString(),
  ...defined({ 'org.opencontainers.image.revision': revision }),
})

async function appEntries(root: string, scratch: string) {
  const [programs, agent] = [join(scratch, 'programs'), join(scratch, 'agent')]
  mkdirSync(programs)
  await bundlePrograms(root, programs).catch((cause: unknown) => {
    throw new KubeNodeError(bundleErrors.KN1050({ root }), { cause })
  })
  await bundleAgent({ root, out: agent, prefix: AGENT_PREFIX })
  return appLayer({ root, programs, agent })
}

interface PlatformLayers {
  readonly base: Layer & { readonly made: string }
  readonly node: Layer & { readonly made: string }
  readonly packages: readonly LockedPackage[]
}

async function platformLayers(
  store: LayoutStore,
  scratch: string,
  { root, cache, mirror, report }: BuildImageOptions,
  architecture: Architecture,
): Promise<PlatformLayers> {
  const { release, packages } = readDebianLock(root)
  const locked = packages[architecture]
  report(`${architecture}: fetching ${locked.length} Debian packages and Node.js, where they are not at hand`)
  fetchPackages(cache, locked, mirror)
  const debs = await Promise.all(locked.map((p) => namedDeb(p.name, readPackage(cache, p))))
  const program = await nodeFile(root, cache, architecture)
  const { entries } = baseLayer(architecture, debs, program)
  report(`${architecture}: writing layers`)
  return {
    base: { ...(await writeLayer(store, scratch, entries)), made: `Debian ${release}, ${LOCK_NOTE}` },
    node: { ...(await writeLayer(store, scratch, [program])), made: `Node.js ${process.versions.node}` },
    packages: locked,
  }
}

const LOCK_NOTE = 'packages of deploy/image/debian.lock.json'
