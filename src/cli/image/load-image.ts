// Puts the image into the containerd of this host with its own program, or says how.
import { spawnSync } from 'node:child_process'
import { KubeNodeError } from '#lib/errors.ts'
import { cliErrors } from '../cli-errors.ts'

export interface LoadOptions {
  readonly file: string
  /** Of containerd. */
  readonly address: string
  readonly namespace: string
}

const CTR = 'ctr'

export const loadCommand = ({ file, address, namespace }: LoadOptions): readonly string[] => [
  CTR,
  '--address',
  address,
  '--namespace',
  namespace,
  'images',
  'import',
  file,
]

/** What containerd lists it as. */
export function loadImage(options: LoadOptions): string {
  const [program = CTR, ...args] = loadCommand(options)
  const command = loadCommand(options).join(' ')
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new KubeNodeError(cliErrors.KN1126({ command }))
  if (error !== undefined || status !== 0) {
    const why = error?.message ?? stderr.trim().split('\n').at(-1) ?? ''
    throw new KubeNodeError(cliErrors.KN1127({ file: options.file, address: options.address, why }))
  }
  return stdout.trim()
}
