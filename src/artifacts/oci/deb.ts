// Reads a Debian package in memory: its control record and the files it would install. Runs nothing of it.
import { KubeNodeError } from '#lib/errors.ts'
import { debParts, type DebPart } from './deb-parts.ts'
import { ociErrors } from './oci-errors.ts'
import type { TarEntry } from './tar-entry.ts'
import { entriesOf } from './tar-reader.ts'
import { unpackedStream, type Refuse } from './unpacked-stream.ts'

export interface Deb {
  /** The record as in /var/lib/dpkg/status. */
  readonly control: string
  readonly entries: readonly TarEntry[]
}

/** Five times what the image's largest package unpacks to. */
const MAX_UNPACKED = 256 * 1024 * 1024

/** `file` is for messages only. */
export async function readDeb(file: string, bytes: Buffer): Promise<Deb> {
  const refuse: Refuse = (why, cause) => new KubeNodeError(ociErrors.KN1208_package({ file, why }), { cause })
  const { control, data } = await debParts((at, n) => bytes.subarray(at, at + n), bytes.length, refuse)
  const entriesIn = ({ start, length }: DebPart) =>
    entriesOf(unpackedStream(bytes.subarray(start, start + length), refuse, MAX_UNPACKED), refuse)
  const record = (await entriesIn(control)).find(({ path }) => path === 'control')
  if (record?.kind !== 'File') throw refuse('it has no control record')
  return { control: record.content().toString('utf8').trim(), entries: await entriesIn(data) }
}
