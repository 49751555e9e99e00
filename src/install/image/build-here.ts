// Builds the image from this checkout into a layout, for the chosen architectures and name.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { withNewLayout } from '#artifacts/oci/layout-file.ts'
import { LayoutStore } from '#artifacts/oci/layout-store.ts'
import { parseReference } from '#artifacts/oci/reference.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { VERSION } from '#lib/program-version.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { Io } from '#lib/terminal/io.ts'
import { buildImage } from './build-image.ts'
import { builtCommit } from './commit.ts'
import { ARCHITECTURES } from './debian-lock.ts'
import { imageErrors } from './image-errors.ts'

export interface BuildOptions {
  readonly output: string
  readonly arch: string
  readonly name: string
  readonly cache?: string
  readonly mirror?: string
}

export async function buildHere(flags: BuildOptions, io: Io): Promise<void> {
  const architectures = flags.arch.split(',').map((text) => {
    const known = ARCHITECTURES.find((a) => a === text.trim())
    if (known !== undefined) return known
    throw new KubeNodeError(imageErrors.KN1002_arch({ text: JSON.stringify(text), known: ARCHITECTURES.join(', ') }))
  })
  const { tag = VERSION, ...named } = parseReference(flags.name)
  const root = releaseRoot()
  const cache = flags.cache ?? join(io.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubenode/image')
  const output = resolve(io.cwd, flags.output)
  const digest = await withNewLayout(output, async (folder) => {
    const { digest: made } = await buildImage(LayoutStore.create(folder), {
      root,
      cache,
      ...defined({ mirror: flags.mirror }),
      architectures: [...new Set(architectures)],
      commit: builtCommit(root, io.env['SOURCE_DATE_EPOCH']),
      name: `${named.host}/${named.repository}:${tag}`,
      tag,
      report: (line) => io.err(`${line}\n`),
    })
    return made
  })
  io.out(`${JSON.stringify({ image: `${named.host}/${named.repository}:${tag}`, digest, output: flags.output })}\n`)
}
