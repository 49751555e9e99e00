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

const copied = (file: string, path = file): TarFile => ({
  kind: 'File',
  path: path.replace(/^\//, ''),
  mode: PROGRAM_MODE,
  content: () => readFileSync(file),
})

export interface ProgramImage {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

/** Found by their names, as a command of a pod names them. */
const PROGRAMS_FOLDER = '/usr/local/bin'

/** A layout below `folder`. */
export const pauseLayout = (folder: string): Promise<string> =>
  programLayout(folder, { name: PAUSE_IMAGE, program: SLEEP, args: ['infinity'] })

/** The same for any program of this host. */
export async function programLayout(folder: string, { name, program, args }: ProgramImage): Promise<string> {
  const layout = join(folder, basename(program))
  await putPrograms(layout, name, [copied(program), ...librariesOf(program).map((l) => copied(l))], [program, ...args])
  return layout
}

export interface Programs {
  readonly layout: string
  /** Of its index, by which pods name it. */
  readonly digest: string
}

/** Several programs of this host, found by their names; the first one runs unless a pod names another. `files`: what they read at its own place. */
export async function programsLayout(
  layout: string,
  name: string,
  programs: readonly string[],
  files: readonly string[] = [],
): Promise<Programs> {
  const libraries = [...new Set(programs.flatMap(librariesOf))]
  const at = (program: string): string => join(PROGRAMS_FOLDER, basename(program))
  const all = [...programs.map((p) => copied(p, at(p))), ...[...libraries, ...files].map((f) => copied(f))]
  return { layout, digest: await putPrograms(layout, name, all, [at(programs[0] ?? '')]) }
}

async function putPrograms(
  layout: string,
  name: string,
  files: readonly TarFile[],
  entrypoint: readonly string[],
): Promise<string> {
  const store = LayoutStore.create(layout)
  const scratch = mkdtempSync(join(layout, 'layer-'))
  const layer = await writeLayer(store, scratch, files)
  rmSync(scratch, { recursive: true })
  const image = await putImage(store, [{ ...layer, made: 'a test' }], {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    created: new Date(0),
    user: '65535:65535',
    env: {},
    entrypoint,
    folder: '/',
    labels: {},
  })
  const annotations = { 'io.containerd.image.name': name }
  return (await putIndex(store, [image], {}, { tag: '1', annotations })).digest
}

/** None for a program that is linked statically. */
function librariesOf(program: string): readonly string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' })
  return stdout.match(/\/\S+(?= \()/g) ?? []
}
