// Images made of what this host has: a program and its libraries. That of a pod's sandbox is `sleep`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { putImage, putIndex } from '#artifacts/oci/image-documents.ts'
import { writeLayer } from '#artifacts/oci/layer.ts'
import { PROGRAM_MODE, type TarFile } from '#artifacts/oci/tar-entry.ts'

export const PAUSE_IMAGE = 'kubenode.test/pause:1'
const SLEEP = '/bin/sleep'

const copied = (file: string): TarFile => ({
  kind: 'File',
  path: file.replace(/^\//, ''),
  mode: PROGRAM_MODE,
  content: () => readFileSync(file),
})

export interface ProgramImage {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

/** A layout below `folder`. */
export const pauseLayout = (folder: string): Promise<string> =>
  programLayout(folder, { name: PAUSE_IMAGE, program: SLEEP, args: ['infinity'] })

/** The same for any program of this host. */
export async function programLayout(folder: string, { name, program, args }: ProgramImage): Promise<string> {
  const libraries = librariesOf(program)
  const layout = join(folder, basename(program))
  const store = LayoutStore.create(layout)
  const scratch = mkdtempSync(join(folder, 'layer-'))
  const layer = await writeLayer(store, scratch, [program, ...libraries].map(copied))
  rmSync(scratch, { recursive: true })
  const image = await putImage(store, [{ ...layer, made: 'a test' }], {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    created: new Date(0),
    user: '65535:65535',
    env: {},
    entrypoint: [program, ...args],
    folder: '/',
    labels: {},
  })
  await putIndex(store, [image], {}, { tag: '1', annotations: { 'io.containerd.image.name': name } })
  return layout
}

/** None for a program that is linked statically. */
function librariesOf(program: string): readonly string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' })
  return stdout.match(/\/\S+(?= \()/g) ?? []
}
