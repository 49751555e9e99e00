// An image of two platforms and a few bytes, with a list of contents, for tests of what carries images around.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { descriptorOf } from '#artifacts/oci/descriptor.ts'
import { putImage, putIndex, putReferrer } from '#artifacts/oci/image-documents.ts'
import type { ImageStore } from '#artifacts/oci/image-store.ts'
import { writeLayer } from '#artifacts/oci/layer.ts'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { textFile } from '#artifacts/oci/tar-entry.ts'
import { sha256 } from '#lib/sha256.ts'

export const TAG = '1.2.3'
export const LIST_TYPE = 'application/vnd.cyclonedx+json'

interface SmallImage {
  readonly digest: string
  /** Of the platforms. */
  readonly platforms: readonly string[]
}

/** `bytes` is about the size of its layer. */
async function putSmallImage(store: ImageStore, scratch: string, bytes = 1_000): Promise<SmallImage> {
  const noise = noiseOf(bytes)
  const layer = await writeLayer(store, scratch, [
    textFile('etc/hello', 'hello'),
    { kind: 'File', path: 'noise', mode: 0o644, content: () => noise },
  ])
  const platforms = []
  for (const architecture of ['amd64', 'arm64']) {
    const image = await putImage(store, [{ ...layer, made: 'a test' }], {
      architecture,
      created: new Date(1_700_000_000_000),
      user: '65532:65532',
      env: { PATH: '/usr/bin' },
      entrypoint: ['/hello'],
      folder: '/tmp',
      labels: { 'org.opencontainers.image.title': 'small' },
    })
    const list = Buffer.from(`{"of":"${architecture}"}`)
    await putReferrer(store, image, {
      artifactType: LIST_TYPE,
      layers: [{ descriptor: descriptorOf(LIST_TYPE, list), bytes: list }],
    })
    platforms.push(image)
  }
  const { digest } = await putIndex(store, platforms, {}, { tag: TAG, annotations: {} })
  return { digest, platforms: platforms.map((p) => p.digest) }
}

/** Stays as large when it is packed. */
function noiseOf(bytes: number): Buffer {
  const pieces = Array.from({ length: Math.ceil(bytes / 32) }, (_, i) => sha256(`${i}`))
  return Buffer.concat(pieces).subarray(0, bytes)
}

export interface SmallLayout extends SmallImage {
  readonly store: LayoutStore
  readonly folder: string
  readonly remove: () => void
}

export async function smallLayout(bytes?: number): Promise<SmallLayout> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-small-image-'))
  const store = LayoutStore.create(join(folder, 'layout'))
  const image = await putSmallImage(store, folder, bytes)
  return { ...image, store, folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
