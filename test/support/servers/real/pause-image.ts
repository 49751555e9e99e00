// The image of a pod's sandbox, made of what this host has: `sleep` and its libraries.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { LayoutStore } from '#oci/layout-store.ts'
import { putImage, putIndex } from '#oci/image-documents.ts'
import { writeLayer } from '#oci/layer.ts'
import { PROGRAM_MODE, type TarFile } from '#oci/tar-entry.ts'

export const PAUSE_IMAGE = 'kubenode.test/pause:1'
const SLEEP = '/bin/sleep'

const copied = (file: string): TarFile => ({
  kind: 'File',
  path: file.replace(/^\//, ''),
  mode: PROGRAM_MODE,
  content: () => readFileSync(file),
})

/** A layout below `folder`. */
export async function pauseLayout(folder: string): Promise<string> {
  const libraries = execFileSync('ldd', [SLEEP], { encoding: 'utf8' }).match(/\/\S+(?= \()/g) ?? []
  const layout = join(folder, 'pause')
  const store = LayoutStore.create(layout)
  const scratch = mkdtempSync(join(folder, 'pause-layer-'))
  const layer = await writeLayer(store, scratch, [SLEEP, ...libraries].map(copied))
  rmSync(scratch, { recursive: true })
  const image = await putImage(store, [{ ...layer, made: 'a test' }], {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    created: new Date(0),
    user: '65535:65535',
    env: {},
    entrypoint: [SLEEP, 'infinity'],
    folder: '/',
    labels: {},
  })
  await putIndex(store, [image], {}, { tag: '1', annotations: { 'io.containerd.image.name': PAUSE_IMAGE } })
  return layout
}
