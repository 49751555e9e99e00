// Imports the image into this host's containerd with containerd's own CLI, or explains how.
import { spawnSync } from 'node:child_process'
import { KubeNodeError } from '#lib/errors.ts'
import { imageErrors } from './image-errors.ts'
import type { NamedImage } from '#artifacts/oci/layout-file.ts'

export interface LoadOptions {
  readonly file: string
  readonly image: NamedImage
  /** containerd's socket. */
  readonly address: string
  readonly namespace: string
}

const CTR = 'ctr'

type Command = readonly string[]

/** Pods name the image by digest, and a runtime searches for that exact reference. Without it a node pulls what it already has. */
function loadCommands({ file, image, address, namespace }: LoadOptions): readonly Command[] {
  const images = [CTR, '--address', address, '--namespace', namespace, 'images']
  return [
    [...images, 'import', file],
    [...images, 'tag', '--force', image.name, byDigest(image)],
  ]
}

const byDigest = ({ name, digest }: NamedImage): string => `${name.replace(/:[^/:]*$/, '')}@${digest}`

/** Returns the reference by digest. */
export function loadImage(options: LoadOptions): string {
  const commands = loadCommands(options)
  for (const [program = CTR, ...args] of commands) {
    const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    if (error !== undefined && 'code' in error && error.code === 'ENOENT')
      throw new KubeNodeError(imageErrors.KN1126({ command: commands.map((c) => c.join(' ')).join(' && ') }))
    if (error !== undefined || status !== 0) {
      const why = error?.message ?? stderr.trim().split('\n').at(-1) ?? ''
      throw new KubeNodeError(imageErrors.KN1126_socket({ file: options.file, address: options.address, why }))
    }
  }
  return byDigest(options.image)
}
